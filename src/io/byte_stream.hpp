// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <sys/uio.h>

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <span>

namespace hocket::io {

/// The end of one connection that does no I/O itself: it says what it wants to write and read, and
/// a poller moves it. All calls come from inside a call of the poller, one at a time. Any of them
/// may call the poller back, for this stream or another.
class byte_stream {
 public:
  virtual ~byte_stream() = default;
  /// What to write next, at most IOV_MAX pieces; no bytes: nothing now. Pieces and bytes stay valid
  /// until `written`.
  virtual std::span<iovec const> to_write() noexcept = 0;
  /// So many of those bytes are on their way, at least one and perhaps not all.
  virtual void written(std::size_t bytes) noexcept = 0;
  /// Where the next bytes go, at most IOV_MAX pieces; no room: reading pauses until `kick`, and the
  /// peer's end goes unnoticed meanwhile unless something is written. Valid until `read`.
  virtual std::span<iovec const> to_read() noexcept = 0;
  /// So many bytes have come, at least one and perhaps fewer than there was room for.
  virtual void read(std::size_t bytes) noexcept = 0;
  /// The connection has ended: `asio::error::eof`, or the error of the system call. It is out of
  /// the poller, nobody touches its buffers and nothing follows; the stream may be destroyed here.
  /// Where writing failed, what had arrived was read first: it may say why.
  virtual void ended(boost::system::error_code why) noexcept = 0;
};

}  // namespace hocket::io
