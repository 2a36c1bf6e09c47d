// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <functional>
#include <memory>
#include <string_view>

#include "base/unique_fd.hpp"
#include "io/byte_stream.hpp"

namespace hocket::io {

using detail::unique_fd;

enum class readiness { readable, writable };

/// Is told about a descriptor that carries no stream: one that listens, connects or counts time.
class watcher {
 public:
  /// It is ready, or has failed: a system call will say. Called again while that stays so. May
  /// unwatch, and destroy the watcher after that.
  virtual void ready() noexcept = 0;

 protected:
  ~watcher() = default;
};

/// Moves the bytes of sockets. Not for several threads at once, but for any thread. A call from
/// inside a callback only notes what is to do; the outermost call does it.
class poller {
 public:
  poller() = default;
  poller(poller const&) = delete;
  poller& operator=(poller const&) = delete;
  /// Lets go of what is left without telling it, once the kernel touches no buffer any more.
  virtual ~poller() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// Takes over a connected socket that does not block. Calls at most `to_read` and `to_write`.
  virtual void add(unique_fd socket, byte_stream& s) = 0;
  /// Closes the socket; nothing but `gone` is called for the stream any more, and that once, from
  /// here or from a later call, when the kernel touches none of its buffers. At once for a stream
  /// that has ended.
  virtual void remove(byte_stream& s, std::function<void()> gone) noexcept = 0;
  /// The stream has something to write, or reads again; may move bytes at once. Does nothing for a
  /// stream that has ended.
  virtual void kick(byte_stream& s) noexcept = 0;
  /// `w` hears when `fd` is ready, until `unwatch`, which comes before the descriptor is closed.
  virtual void watch(int fd, readiness what, watcher& w) = 0;
  virtual void unwatch(watcher& w) noexcept = 0;
  /// A bounded turn; true: call again before sleeping on `wake_fd`.
  virtual bool poll() noexcept = 0;
  /// Readable when `poll` has something to do.
  [[nodiscard]] virtual int wake_fd() const noexcept = 0;
};

enum class poller_kind { automatic, epoll, io_uring };

/// `automatic` is what the environment says, HOCKET_IO=auto|epoll|io_uring, and epoll if that
/// leaves the choice. Throws hocket::error: an unknown HOCKET_IO; io_uring where it does not work,
/// with the system's code and the reason `probe_uring` has; no descriptor left.
[[nodiscard]] std::unique_ptr<poller> make_poller(poller_kind kind = poller_kind::automatic);

}  // namespace hocket::io
