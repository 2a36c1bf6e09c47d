// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <cstdint>
#include <hocket/async/detail/port.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/error.hpp>
#include <hocket/group/detail/first_sequence.hpp>
#include <hocket/group/detail/window.hpp>
#include <hocket/group/engine.hpp>
#include <hocket/group/group_options.hpp>
#include <hocket/group/object_limits.hpp>
#include <hocket/log.hpp>
#include <map>
#include <memory>
#include <mutex>

namespace hocket::detail {

/// Where failures go that nobody was told. Kept by the operations, which may outlive the group.
class failure_reporter {
 public:
  failure_reporter(std::function<void(error const&)> handler) : handler_(std::move(handler)) {}
  /// Calls the handler, or logs a line; after the first few a line only when their number has
  /// doubled.
  void report(op_base const& op) const noexcept;
  void group_ended() noexcept { ended_.store(true, std::memory_order_relaxed); }

 private:
  void write_line(log_level level, error const& e) const;

  std::function<void(error const&)> const handler_;
  std::atomic<bool> ended_{false};
  mutable std::atomic<std::uint64_t> logged_{0};
};

/// One channel of a group on this rank: where the calls get their numbers.
class channel_core : public std::enable_shared_from_this<channel_core> {
 public:
  channel_core(std::uint64_t number, bool takes_one_op, window_limits const& limits,
               object_limits const& of_objects, std::shared_ptr<failure_reporter const> r)
      : id(number),
        one_op(takes_one_op),
        under_way(limits),
        objects(of_objects),
        reporter(std::move(r)) {}

  std::uint64_t const id;
  bool const one_op;  // closes itself with its first operation
  std::atomic<std::uint64_t> next_sequence{first_sequence.load()};
  std::atomic<std::uint64_t> next_message{first_sequence.load()};  // of sends and receives
  std::atomic<bool> closed{false};
  window under_way;
  object_limits const objects;
  std::shared_ptr<failure_reporter const> const reporter;
};

/// What the handles of one group on one rank share.
class group_core {
 public:
  group_core(group_spec s, std::shared_ptr<hocket::endpoint> at, runtime_handle r, port_ptr h,
             group_options const& how);
  ~group_core();
  group_core(group_core const&) = delete;
  group_core& operator=(group_core const&) = delete;

  [[nodiscard]] std::shared_ptr<channel_core> open(std::uint64_t id);
  /// A channel for one operation, under a key of its own kind.
  [[nodiscard]] std::shared_ptr<channel_core> open_keyed(std::uint64_t key);
  void close(channel_core& channel);

  /// Groups that this process has open, over all its ranks: one that leaks is still counted.
  [[nodiscard]] static int live() noexcept { return live_.load(std::memory_order_relaxed); }

  group_spec const spec;
  std::shared_ptr<hocket::endpoint> const endpoint;
  runtime_handle const rt;
  port_ptr const home;
  group_options const options;
  std::atomic<clock::duration> deadline;

 private:
  void report_open_channels() const noexcept;

  inline static std::atomic<int> live_{0};

  std::shared_ptr<void> const kept_alive_;

  window_limits const limits_;
  std::shared_ptr<failure_reporter> const reporter_;
  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<channel_core>> channels_;
};

/// Ids of keyed channels have this bit, those of others have not.
inline constexpr std::uint64_t keyed_bit = std::uint64_t{1} << 63;

}  // namespace hocket::detail
