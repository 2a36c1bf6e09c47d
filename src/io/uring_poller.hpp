// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <list>

#include "io/poller.hpp"
#include "io/stream_table.hpp"
#include "io/uring_support.hpp"

namespace hocket::io {

/// One ring, with at most one receive and one send of each stream in flight; whatever the callbacks
/// of a turn ask for goes to the kernel in one system call. The kernel may complete an operation at
/// any time, so a record stays until the last of its operations is reaped.
class uring_poller final : public poller {
 public:
  /// Throws hocket::error with the reason where io_uring does not work.
  explicit uring_poller(unsigned entries = 256);
  ~uring_poller() override;

  std::string_view name() const noexcept override { return "io_uring"; }
  void add(unique_fd socket, byte_stream& s) override;
  void remove(byte_stream& s, std::function<void()> gone) noexcept override;
  void kick(byte_stream& s) noexcept override;
  void watch(int fd, readiness what, watcher& w) override;
  void unwatch(watcher& w) noexcept override;
  bool poll() noexcept override;
  int wake_fd() const noexcept override { return event_.get(); }

 private:
  enum class operation : std::uint64_t { none, receive, send, watch };

  struct connection : stream_record {
    using stream_record::stream_record;
    bool receiving = false, sending = false;
    bool cancel_wanted = false;
    bool ending = false;   // `ended` is called when nothing is in flight any more
    bool read_on = false;  // what has arrived is read before that
    boost::system::error_code why;
    msghdr incoming{}, outgoing{};
  };
  struct watched {
    int fd = -1;
    unsigned events = 0;
    watcher* to_tell = nullptr;  // null: no longer watched, kept until its operation is reaped
    bool armed = false, cancel_wanted = false;
  };

  void short_turn(bool reap_now) noexcept;
  void finish_turn() noexcept;
  void signal_completions(bool wanted) noexcept;
  void clear_event() noexcept;
  bool has_work() const noexcept;

  void ask() noexcept;
  void stage() noexcept;
  void serve(connection& c) noexcept;
  void send(connection& c) noexcept;
  void receive(connection& c) noexcept;
  void arm_watches() noexcept;
  void cancel_all(connection& c) noexcept;
  bool cancel(std::uint64_t user_data) noexcept;
  static std::uint64_t tag(void const* target, operation o) noexcept;
  io_uring_sqe* next_sqe() noexcept;
  void submit() noexcept;

  bool reap() noexcept;
  void complete(std::uint64_t user_data, int result) noexcept;
  void complete_send(connection& c, int result) noexcept;
  void complete_receive(connection& c, int result) noexcept;
  void complete_watch(watched& entry, int result) noexcept;
  void start_end(connection& c, boost::system::error_code why) noexcept;
  void end_if_idle(connection& c) noexcept;
  void break_down() noexcept;

  io_uring ring_{};
  unique_fd event_;
  stream_table<connection> streams_;
  std::list<watched> watched_;
  bool watches_changed_ = false;
  bool in_turn_ = false;
  bool is_full_ = false;  // the submission queue, in this turn
  bool is_broken_down_ = false;
  int broken_ = 0;  // the error that took the ring away while it was in use
};

}  // namespace hocket::io
