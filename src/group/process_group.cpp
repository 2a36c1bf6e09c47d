// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/async/detail/then.hpp>
#include <hocket/group/detail/group_core.hpp>
#include <hocket/group/detail/world_core.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/tensor/copy.hpp>

#include "launch.hpp"

namespace hocket {

group_rank process_group::rank() const noexcept {
  return group_ ? group_->spec.rank : group_rank(0);
}

int process_group::size() const noexcept { return group_ ? group_->spec.members.size() : 1; }

rank_group const& process_group::members() const noexcept {
  static rank_group const none;
  return group_ ? group_->spec.members : none;
}

std::string const& process_group::label() const noexcept {
  static std::string const none = "disabled";
  return group_ ? group_->endpoint->label() : none;
}

group_rank process_group::place_of(member m) const {
  if (m.is_world()) {
    if (auto const place = members().group_rank_of(world_rank(m.value()))) return *place;
    throw error(errc::not_a_member,
                fmt::format("world rank {} is not in group {}", m.value(), label()));
  }
  if (m.value() >= 0 && m.value() < size()) return group_rank(m.value());
  throw error(errc::not_a_member,
              fmt::format("group rank {} is not in group {}, which has {} ranks", m.value(),
                          label(), size()));
}

boost::asio::any_io_executor process_group::get_executor() const {
  if (group_) return group_->home->executor();
  throw error(errc::invalid_argument, "a disabled group has no executor");
}

void process_group::set_deadline(clock::duration d) const {
  if (group_) group_->deadline.store(d, std::memory_order_relaxed);
}

process_group process_group::channel(std::uint64_t id) const {
  if (!group_) return {};
  return {group_, group_->open(id)};
}

process_group process_group::keyed(std::uint64_t key) const {
  if (!group_) return {};
  return {group_, group_->open_keyed(key)};
}

std::uint64_t process_group::channel_id() const noexcept { return channel_ ? channel_->id : 0; }

void process_group::close_channel() const {
  if (channel_ && channel_->id != 0) group_->close(*channel_);
}

void process_group::revoke(std::string const& reason) const {
  if (group_) group_->endpoint->revoke(reason);
}

work<process_group> process_group::rebuild(rebuild_options const& options,
                                           std::source_location site) const {
  if (!group_) return make_ready_work<process_group>(nullptr, process_group());
  auto const joined = group_->endpoint->rebuild(options.deadline(), group_->home, site);
  auto const deadline = group_->deadline.load(std::memory_order_relaxed);
  return detail::then(joined, [rt = group_->rt, home = group_->home, how = group_->options,
                               deadline](membership m) mutable {
    m.spec.deadline = deadline;
    return detail::group_of(std::move(m.spec), std::move(m.at), rt, home, how);
  });
}

work<> process_group::close() const {
  if (!group_) return make_ready_work();
  group_->endpoint->leave(errc::group_closed, "it was closed");
  return make_ready_work(group_->home);
}

namespace detail {

work<> copy_when_disabled(char const* operation, tensor const& out, tensor const& in,
                          std::source_location site) {
  try {
    check_tensor(in, "the input");
    check_tensor(out, "the output");
    bool const same = in.same_object(out) || (in.is_contiguous() && out.is_contiguous() &&
                                              in.const_bytes() == out.const_bytes());
    if (!same) {
      check_aliasing(in, out, nullptr, 0);
      copy(out, in.contiguous().reshape(out.shape()));
    } else if (in.numel() != out.numel()) {
      throw error(errc::invalid_argument,
                  fmt::format("the output is {}, but the input {}", brief(out), brief(in)));
    }
  } catch (error const& e) {
    return failed_work<void>(errc::invalid_argument, operation, e.what(), site);
  }
  return make_ready_work();
}

process_group group_of(group_spec spec, std::shared_ptr<endpoint> at, runtime_handle rt,
                       port_ptr home, group_options const& options) {
  auto core = std::make_shared<group_core>(std::move(spec), std::move(at), std::move(rt),
                                           std::move(home), options);
  auto channel = core->open(0);
  return {std::move(core), std::move(channel)};
}

}  // namespace detail

}  // namespace hocket
