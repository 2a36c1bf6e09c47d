// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "gathering.hpp"

#include <fmt/format.h>

#include <utility>

#include "fabric.hpp"
#include "hub.hpp"
#include "local_endpoint.hpp"

namespace hocket::local {

class gathering::joining final : public detail::value_state<std::shared_ptr<endpoint>> {
 public:
  joining(detail::port_ptr home, std::shared_ptr<gathering> g, int rank)
      : value_state(std::move(home)), gathering_(std::move(g)), rank_(rank) {}

 protected:
  void waits_ended() noexcept override { gathering_->give_up(rank_); }
  std::string expiry_story() override { return gathering_->missing(); }

 private:
  std::shared_ptr<gathering> const gathering_;
  int const rank_;
};

gathering::gathering(std::shared_ptr<fabric> f, group_spec const& first)
    : fabric_(std::move(f)),
      spec_(first),
      members_(static_cast<std::size_t>(first.members.size())) {}

gathering::~gathering() = default;

work<std::shared_ptr<endpoint>> gathering::join(group_spec const& spec, detail::port_ptr home,
                                                std::source_location site,
                                                runtime_handle const& rt) {
  auto const rank = static_cast<std::size_t>(spec.rank.value());
  handle op(new joining(std::move(home), shared_from_this(), spec.rank.value()), false);
  op->mutable_info().operation = "make_group";
  op->mutable_info().site = site;
  if (spec.deadline != clock::duration::max()) rt.arm(*op, spec.deadline);
  work<std::shared_ptr<endpoint>> result{detail::op_ptr<std::shared_ptr<endpoint>>(op)};

  std::vector<handle> complete;
  bool disagree = false;
  bool again = false;
  {
    std::lock_guard const lock(mutex_);
    disagree = !(spec.members == spec_.members);
    again = !disagree && members_[rank] != nullptr;
    if (disagree || over_) {
      over_ = true;
      complete = std::exchange(members_, {});
    } else if (!again) {
      members_[rank] = op;
      if (++joined_ == spec_.members.size()) {
        over_ = true;
        complete = std::exchange(members_, {});
      }
    }
  }
  if (again) {
    op->finish(detail::make_failure(
        make_error_code(errc::invalid_argument),
        fmt::format("{}: rank {} is joining group {} already", to_string(op->info()), rank,
                    spec.name)));
    return result;
  }
  if (complete.empty() && !disagree) return result;
  fabric_->forget(this);
  if (disagree) {
    complete.push_back(op);
    fail_all(complete, errc::mismatch,
             fmt::format("members disagree on group {}: {} and {}", spec.name,
                         to_string(spec_.members), to_string(spec.members)));
    return result;
  }
  auto const shared = std::make_shared<hub>(fabric_, spec_);
  for (std::size_t r = 0; r < complete.size(); ++r) {
    complete[r]->store(std::make_shared<local_endpoint>(shared, static_cast<int>(r)));
    complete[r]->finish();
  }
  return result;
}

void gathering::fail_all(std::vector<handle>& members, errc code, std::string const& why) {
  for (auto const& m : members) {
    if (!m) continue;
    m->finish(detail::make_failure(make_error_code(code), to_string(m->info()) + ": " + why));
  }
}

void gathering::give_up(int rank) {
  std::vector<handle> waiting;
  {
    std::lock_guard const lock(mutex_);
    if (over_) return;
    over_ = true;
    waiting = std::exchange(members_, {});
  }
  fabric_->forget(this);
  fail_all(waiting, errc::peer_failed,
           fmt::format("rank {} gave up waiting for group {}", rank, spec_.name));
}

std::string gathering::missing() {
  std::lock_guard const lock(mutex_);
  std::string ranks;
  for (std::size_t r = 0; r < members_.size(); ++r)
    if (!members_[r])
      ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ",
                           spec_.members[group_rank(static_cast<int>(r))].value());
  return fmt::format("the deadline passed; of {} these world ranks have not joined group {}: {}",
                     to_string(spec_.members), spec_.name, ranks.empty() ? "none" : ranks);
}

}  // namespace hocket::local
