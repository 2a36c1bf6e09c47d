// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "frame.hpp"
#include "greeting.hpp"
#include "io/byte_stream.hpp"

namespace hocket::host {

class in_link;

/// Where frames go. Called by the thread that polls, under the fabric's lock.
class frame_sink {
 public:
  virtual ~frame_sink() = default;
  /// The link has something to write.
  virtual void speaks(in_link& from) = 0;
  /// The link's peer has proved who it is.
  virtual void greeted(in_link& from) = 0;
  /// A frame other than data. The spans are valid during the call only.
  virtual void arrived(in_link& from, frame_head const& head, std::span<std::byte const> extra,
                       std::span<std::byte const> payload) = 0;
  /// Where the bytes of a data frame go; null: nowhere, they are not wanted any more. Throws if
  /// nobody has asked for them.
  virtual std::byte* landing(in_link& from, frame_head const& head) = 0;
  /// The bytes of a data frame are there.
  virtual void landed(in_link& from, frame_head const& head) = 0;
  /// The connection has ended; nothing follows.
  virtual void ended(in_link& from, std::string const& why) = 0;
};

/// The receiving end of a connection that a peer has made: bytes become frames. Sans-IO.
class in_link final : public io::byte_stream {
 public:
  in_link(frame_sink& to, identity const& me);

  /// The peer's rank; -1 until it has proved it.
  [[nodiscard]] int peer() const noexcept { return greeting_.is_done() ? greeting_.peer() : -1; }

  /// Bytes of the transfer that are on their way are dropped from now on.
  void forsake(std::uint64_t transfer) noexcept {
    if (is_receiving(transfer)) data_to_ = nullptr;
  }
  [[nodiscard]] bool is_receiving(std::uint64_t transfer) const noexcept {
    return data_left_ > 0 && data_.tag == transfer;
  }

  std::span<iovec const> to_write() noexcept override;
  void written(std::size_t bytes) noexcept override;
  std::span<iovec const> to_read() noexcept override;
  void read(std::size_t bytes) noexcept override;
  void ended(boost::system::error_code why) noexcept override;

 private:
  void parse() noexcept;
  bool take_frame();
  void begin_data(frame_head const& head);
  void fail(std::string why) noexcept;

  void greet();

  frame_sink& sink_;
  answerer_greeting greeting_;
  std::string say_;  // of the greeting
  iovec say_piece_{};
  std::string refusal_;  // why the connection ends once that is written
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0;  // of what is in the buffer and not consumed
  std::size_t end_ = 0;
  frame_head data_{};          // the data frame under way
  std::size_t data_left_ = 0;  // of its bytes
  std::byte* data_to_ = nullptr;
  bool over_ = false;
  std::array<iovec, 2> pieces_{};
};

}  // namespace hocket::host
