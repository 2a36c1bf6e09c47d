// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "out_link.hpp"

#include <algorithm>
#include <boost/asio/error.hpp>
#include <exception>
#include <utility>

namespace hocket::host {
namespace {

// Enough to keep a system call busy, few enough that a chunk gets its turn soon.
constexpr std::size_t letters_a_turn = 32;

}  // namespace

void out_link::fill() {
  pieces_.clear();
  first_piece_ = 0;
  letters_out_ = std::min(letters_.size(), letters_a_turn);
  for (std::size_t i = 0; i < letters_out_; ++i) {
    letter const& l = letters_[i];
    add(&l.head, sizeof l.head);
    add(l.body.data(), l.body.size());
  }
  if (shipments_.empty()) return;
  shipment& s = *shipments_.front();
  chunk_ = std::min(s.left.size(), chunk_bytes_max);
  chunk_head_ = s.head;
  chunk_head_.payload_bytes = static_cast<std::uint32_t>(chunk_);
  add(&chunk_head_, sizeof chunk_head_);
  add(s.left.data(), chunk_);
}

std::span<iovec const> out_link::to_write() noexcept {
  if (over_ || !fault_.empty()) return {};
  if (!say_.empty()) {
    say_piece_ = {say_.data(), say_.size()};
    return {&say_piece_, 1};
  }
  if (!open_) return {};
  if (first_piece_ == pieces_.size()) fill();
  return std::span<iovec const>(pieces_).subspan(first_piece_);
}

void out_link::begin(identity const& me) {
  greeting_.emplace(me, peer);
  say_ = greeting_->hello();
  fault_.clear();
  over_ = open_ = false;
}

void out_link::written(std::size_t bytes) noexcept {
  if (!say_.empty()) {
    say_.erase(0, bytes);
    return;
  }
  while (bytes > 0) {
    iovec& p = pieces_[first_piece_];
    auto const n = std::min(bytes, p.iov_len);
    p.iov_base = static_cast<std::byte*>(p.iov_base) + n;
    p.iov_len -= n;
    bytes -= n;
    if (p.iov_len == 0) ++first_piece_;
  }
  if (first_piece_ < pieces_.size()) return;
  for (std::size_t i = 0; i < letters_out_; ++i)
    waiting_bytes_ -= sizeof(frame_head) + letters_[i].body.size();
  letters_.erase(letters_.begin(), letters_.begin() + static_cast<std::ptrdiff_t>(letters_out_));
  letters_out_ = 0;
  if (chunk_ == 0) return;
  auto s = std::move(shipments_.front());
  shipments_.pop_front();
  s->left = s->left.subspan(std::exchange(chunk_, 0));
  s->head.address += chunk_head_.payload_bytes;
  if (s->left.empty()) {
    s->done();
  } else {
    shipments_.push_back(std::move(s));
  }
}

void out_link::recall(std::uint64_t exposure) {
  std::vector<std::uint64_t> transfers;
  for (auto at = shipments_.begin(); at != shipments_.end();) {
    shipment& s = **at;
    if (s.exposure != exposure) {
      ++at;
      continue;
    }
    transfers.push_back(s.head.tag);
    if (at == shipments_.begin() && chunk_ > 0) {  // the peer waits for the rest of this chunk
      if (first_piece_ < pieces_.size()) {
        iovec& rest = pieces_.back();
        auto const* const bytes = static_cast<std::byte const*>(rest.iov_base);
        bool const is_chunk = bytes >= s.left.data() && bytes < s.left.data() + chunk_;
        if (is_chunk) {
          saved_.assign(bytes, bytes + rest.iov_len);
          rest.iov_base = saved_.data();
        }
      }
      s.left = s.left.first(chunk_);
      s.exposure = 0;
      ++at;
    } else {
      s.done();
      at = shipments_.erase(at);
    }
  }
  for (auto const transfer : transfers) {
    letter l;
    l.head.kind = frame_kind::refuse;
    l.head.tag = transfer;
    l.head.flags = frame_flags::of_transfer;
    send(std::move(l));
  }
}

std::span<iovec const> out_link::to_read() noexcept {
  if (over_ || !fault_.empty()) return {};
  heard_piece_ = {heard_, sizeof heard_};
  return {&heard_piece_, 1};
}

// Nothing comes after the greeting.
void out_link::read(std::size_t bytes) noexcept {
  if (open_) return;
  try {
    greeting_->receive({heard_, bytes}, say_);
    open_ = greeting_->is_done();
    if (on_speak != nullptr) on_speak(*this);
  } catch (std::exception const& e) {
    fault_ = e.what();
    if (on_end != nullptr) on_end(*this, boost::asio::error::access_denied);
  }
}

void out_link::ended(boost::system::error_code why) noexcept {
  if (std::exchange(over_, true)) return;
  letters_.clear();
  waiting_bytes_ = 0;
  pieces_.clear();
  first_piece_ = letters_out_ = 0;
  chunk_ = 0;
  for (auto& s : std::exchange(shipments_, {})) s->done();
  if (on_end != nullptr) on_end(*this, why);
}

}  // namespace hocket::host
