// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/runtime.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "alarm.hpp"
#include "engine/matching/roster.hpp"

namespace hocket::local {

class local_hub;

/// One rank of a world in this process: the groups that it is in. Any thread may call.
///
/// A program that ends by an exception drops its groups on the way, before anybody can know what
/// the exception says. So what is dropped while an exception passes is left when the program has
/// ended, with its story; or a little later, if the program has caught it and goes on. The same
/// holds for a group whose last handle is the one in the operation that made it, which the thread
/// that completes it still has when the program, on another thread, has ended already.
class presence : public std::enable_shared_from_this<presence> {
 public:
  explicit presence(runtime_handle rt) : runtime_(std::move(rt)) {}

  /// While it lives, this thread completes the making of groups.
  class completion {
   public:
    completion() noexcept { ++depth_; }
    ~completion() { --depth_; }
    completion(completion const&) = delete;
    completion& operator=(completion const&) = delete;
    [[nodiscard]] static bool is_under_way() noexcept { return depth_ > 0; }

   private:
    inline static thread_local int depth_ = 0;
  };

  void joined(std::shared_ptr<local_hub> const& h, int place);
  void leave(std::shared_ptr<local_hub> const& h, int place, errc code, std::string const& reason);
  void program_began();
  /// It ended well.
  void program_ended();
  /// The rank is gone, from all its groups, also those that it is in the middle of joining.
  void lost(errc code, std::string const& why);

 private:
  struct seat {
    std::weak_ptr<local_hub> in;
    int place;
  };
  struct leaving {
    std::shared_ptr<local_hub> from;
    int place;
    std::string reason;
  };
  [[nodiscard]] bool leaves_later(std::shared_ptr<local_hub> const& h, int place,
                                  std::string const& reason);
  void leave_now();

  runtime_handle const runtime_;
  std::mutex mutex_;
  std::vector<seat> seats_;
  std::size_t seats_next_sweep_ = 16;
  int programs_ = 0;
  std::vector<leaving> leaving_;
  alarm_ptr alarm_;
  std::optional<matching::departure> lost_;
};

}  // namespace hocket::local
