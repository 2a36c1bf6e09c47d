// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/system/error_code.hpp>
#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "frame.hpp"
#include "greeting.hpp"
#include "io/byte_stream.hpp"

namespace hocket::host {

/// A frame on its way out, with all its bytes.
struct letter {
  frame_head head;
  std::vector<std::byte> body;  ///< extra, then payload
};

/// Bytes that a peer has asked for, sent in chunks. The owner keeps them alive until `done`.
class shipment {
 public:
  virtual ~shipment() = default;
  /// All bytes have been handed to the kernel, or the link has ended. Called under the fabric's
  /// lock.
  virtual void done() noexcept = 0;

  frame_head head;  ///< of every chunk; `address` counts up
  std::span<std::byte const> left;
  std::uint64_t exposure = 0;  ///< whose bytes they are
};

/// The sending end of a connection to a peer. Letters go in their order, before the chunks of
/// shipments, which take turns: a large one holds up nothing else. Sans-IO; all calls under the
/// fabric's lock.
class out_link final : public io::byte_stream {
 public:
  void send(letter l) {
    waiting_bytes_ += sizeof l.head + l.body.size();
    letters_.push_back(std::move(l));
  }
  void send(std::unique_ptr<shipment> s) { shipments_.push_back(std::move(s)); }
  /// Of letters that are not written yet.
  [[nodiscard]] std::size_t waiting_bytes() const noexcept { return waiting_bytes_; }
  /// The owner of an exposure takes its bytes back: none of them is touched any more, and the peer
  /// is told that the rest will not come.
  void recall(std::uint64_t exposure);
  [[nodiscard]] bool idle() const noexcept { return letters_.empty() && shipments_.empty(); }
  [[nodiscard]] bool is_over() const noexcept { return over_; }
  /// What the link tells when it has something to write after it has read.
  void (*on_speak)(out_link& self) noexcept = nullptr;
  /// What the link tells when the connection has ended.
  void (*on_end)(out_link& self, boost::system::error_code why) noexcept = nullptr;
  void* owner = nullptr;
  int peer = -1;

  /// A connection to the peer is about to be added to the poller: it is greeted first.
  void begin(identity const& me);
  /// The peer has proved who it is: frames are written.
  [[nodiscard]] bool is_open() const noexcept { return open_; }
  /// Why the greeting failed; empty: it did not.
  [[nodiscard]] std::string const& fault() const noexcept { return fault_; }

  std::span<iovec const> to_write() noexcept override;
  void written(std::size_t bytes) noexcept override;
  /// The peer says nothing on this connection: only its end is seen.
  std::span<iovec const> to_read() noexcept override;
  void read(std::size_t bytes) noexcept override;
  void ended(boost::system::error_code why) noexcept override;

 private:
  void add(void const* bytes, std::size_t n) {
    if (n > 0) pieces_.push_back({const_cast<void*>(bytes), n});
  }
  void fill();

  std::deque<letter> letters_;
  std::deque<std::unique_ptr<shipment>> shipments_;  // the first has the next turn
  std::size_t letters_out_ = 0;                      // being written, the first ones
  frame_head chunk_head_{};
  std::size_t chunk_ = 0;         // bytes of the shipment's chunk being written
  std::vector<std::byte> saved_;  // of a chunk whose owner has taken it back
  std::size_t waiting_bytes_ = 0;
  std::vector<iovec> pieces_;
  std::size_t first_piece_ = 0;
  std::optional<caller_greeting> greeting_;
  std::string say_;  // of the greeting
  iovec say_piece_{};
  char heard_[128];
  iovec heard_piece_{};
  std::string fault_;
  bool open_ = false;
  bool over_ = false;
};

}  // namespace hocket::host
