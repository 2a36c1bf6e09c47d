// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <list>

#include "io/poller.hpp"
#include "io/stream_table.hpp"

namespace hocket::io {

/// Waits with epoll, edge-triggered for streams: a socket is registered once, and afterwards system
/// calls move bytes only. Whatever a turn leaves undone is registered anew, which tells again what
/// is ready, so that `wake_fd` never sleeps over it.
class epoll_poller final : public poller {
 public:
  epoll_poller();
  ~epoll_poller() override;

  std::string_view name() const noexcept override { return "epoll"; }
  void add(unique_fd socket, byte_stream& s) override;
  void remove(byte_stream& s, std::function<void()> gone) noexcept override;
  void kick(byte_stream& s) noexcept override;
  void watch(int fd, readiness what, watcher& w) override;
  void unwatch(watcher& w) noexcept override;
  bool poll() noexcept override;
  int wake_fd() const noexcept override { return epoll_.get(); }

 private:
  // What an event points to.
  struct target {
    explicit target(bool stream) : is_stream(stream) {}
    bool const is_stream;
  };
  struct connection : target, stream_record {
    connection(unique_fd socket, byte_stream& s)
        : target(true), stream_record(std::move(socket), s) {}
    bool may_read = false;
    bool may_write = true;
    bool hung_up = false;  // then only a read that fails or finds the end has read everything
  };
  struct watched : target {
    watched(int f, watcher& w) : target(false), fd(f), to_tell(&w) {}
    int fd;
    watcher* to_tell;  // null: no longer watched, kept for events of this turn
  };

  void note(connection& c, std::uint32_t events) noexcept;
  bool serve_queue() noexcept;
  bool serve(connection& c) noexcept;
  void write_some(connection& c, std::size_t& budget) noexcept;
  void read_some(connection& c, std::size_t& budget) noexcept;
  void fail_after_reading(connection& c, int error) noexcept;
  void end(connection& c, boost::system::error_code why) noexcept;
  void retire(connection& c) noexcept;
  void finish_turn() noexcept;

  unique_fd epoll_;
  stream_table<connection> streams_;
  std::list<watched> watched_;
  bool in_turn_ = false;
};

}  // namespace hocket::io
