// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <bit>
#include <hocket/group/detail/group_core.hpp>
#include <hocket/log.hpp>
#include <string>
#include <utility>

namespace hocket::detail {

void failure_reporter::report(op_base const& op) const noexcept {
  try {
    std::rethrow_exception(op.why().exception);
  } catch (error const& e) {
    try {
      if (handler_) return handler_(e);
    } catch (...) {
      log(log_level::error, "the failure handler of a group threw an exception");
    }
    // What was left when this rank left the group is no surprise.
    auto const level =
        ended_.load(std::memory_order_relaxed) ? log_level::debug : log_level::warning;
    if (log_enabled(level)) write_line(level, e);
  } catch (...) {
    log(log_level::warning, "nobody waited for a failure that is not of this library");
  }
}

void failure_reporter::write_line(log_level level, error const& e) const {
  constexpr std::uint64_t in_full_max = 8;
  auto const number = logged_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (number <= in_full_max) {
    log(level, std::string("nobody waited for this failure: ") + e.what());
  } else if (std::has_single_bit(number)) {
    log(level, fmt::format("nobody waited for {} failures of this group so far; the latest: {}",
                           number, e.what()));
  }
}

group_core::group_core(group_spec s, std::shared_ptr<hocket::endpoint> at, runtime_handle r,
                       port_ptr h, group_options const& how)
    : spec(std::move(s)),
      endpoint(std::move(at)),
      rt(std::move(r)),
      home(std::move(h)),
      options(how),
      deadline(spec.deadline),
      kept_alive_(endpoint->keep_alive()),
      limits_{options.window_ops(), options.window_bytes()},
      reporter_(std::make_shared<failure_reporter>(options.failure_handler())) {
  live_.fetch_add(1, std::memory_order_relaxed);
}

group_core::~group_core() {
  report_open_channels();
  reporter_->group_ended();
  endpoint->leave(errc::group_closed, "its last handle was dropped");
  live_.fetch_sub(1, std::memory_order_relaxed);
}

std::shared_ptr<channel_core> group_core::open(std::uint64_t id) {
  if ((id & keyed_bit) != 0)
    throw error(errc::invalid_argument, fmt::format("channel id {} of group {}: ids are below 2^63",
                                                    id, endpoint->label()));
  std::lock_guard const lock(mutex_);
  auto& channel = channels_[id];
  if (!channel)
    channel = std::make_shared<channel_core>(id, false, limits_, options.objects(), reporter_);
  return channel;
}

std::shared_ptr<channel_core> group_core::open_keyed(std::uint64_t key) {
  return std::make_shared<channel_core>(key | keyed_bit, true, limits_, options.objects(),
                                        reporter_);
}

void group_core::close(channel_core& channel) {
  if (channel.closed.exchange(true)) return;
  {
    std::lock_guard const lock(mutex_);
    channels_.erase(channel.id);
  }
  endpoint->close_channel(channel.id);
}

void group_core::report_open_channels() const noexcept {
  if (channels_.size() <= 1 || !log_enabled(log_level::warning)) return;
  constexpr std::size_t shown_max = 8;
  std::string ids;
  std::size_t shown = 0;
  for (auto const& [id, channel] : channels_) {
    if (id == 0 || shown++ >= shown_max) continue;
    ids += fmt::format("{}{}", ids.empty() ? "" : ", ", id);
  }
  log(log_level::warning, fmt::format("group {}, rank {}: channels were not closed: {}{}",
                                      endpoint->label(), spec.rank.value(), ids,
                                      shown > shown_max ? fmt::format(", {} in all", shown) : ""));
}

}  // namespace hocket::detail
