// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <cstdint>
#include <hocket/async/detail/port.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/group/engine.hpp>
#include <map>
#include <memory>
#include <mutex>

namespace hocket::detail {

/// One channel of a group on this rank: where the calls get their numbers.
class channel_core {
 public:
  explicit channel_core(std::uint64_t number) noexcept : id(number) {}

  std::uint64_t const id;
  std::atomic<std::uint64_t> next_sequence{0};
  std::atomic<std::uint64_t> next_message{0};  // sends and receives are numbered apart
  std::atomic<bool> closed{false};
};

/// What the handles of one group on one rank share.
class group_core {
 public:
  group_core(group_spec s, std::shared_ptr<hocket::endpoint> at, runtime_handle r, port_ptr h,
             clock::duration limit)
      : spec(std::move(s)),
        endpoint(std::move(at)),
        rt(std::move(r)),
        home(std::move(h)),
        deadline(limit) {
    live_.fetch_add(1, std::memory_order_relaxed);
  }
  ~group_core() {
    endpoint->leave(errc::group_closed, "its last handle was dropped");
    live_.fetch_sub(1, std::memory_order_relaxed);
  }
  group_core(group_core const&) = delete;
  group_core& operator=(group_core const&) = delete;

  [[nodiscard]] std::shared_ptr<channel_core> open(std::uint64_t id) {
    std::lock_guard const lock(mutex_);
    auto& channel = channels_[id];
    if (!channel) channel = std::make_shared<channel_core>(id);
    return channel;
  }
  void close(channel_core& channel) {
    if (channel.closed.exchange(true)) return;
    {
      std::lock_guard const lock(mutex_);
      channels_.erase(channel.id);
    }
    endpoint->close_channel(channel.id);
  }
  [[nodiscard]] std::size_t open_channels() {
    std::lock_guard const lock(mutex_);
    return channels_.size();
  }

  /// Groups that this process has open, over all its ranks: one that leaks is still counted.
  [[nodiscard]] static int live() noexcept { return live_.load(std::memory_order_relaxed); }

  group_spec const spec;
  std::shared_ptr<hocket::endpoint> const endpoint;
  runtime_handle const rt;
  port_ptr const home;
  std::atomic<clock::duration> deadline;

 private:
  inline static std::atomic<int> live_{0};

  std::mutex mutex_;
  std::map<std::uint64_t, std::shared_ptr<channel_core>> channels_;
};

}  // namespace hocket::detail
