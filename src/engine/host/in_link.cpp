// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "in_link.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <utility>

namespace hocket::host {

namespace {
// Holds most frames; it grows for a longer description.
constexpr std::size_t buffer_bytes = sizeof(frame_head) + 64 * 1024 + inline_bytes_max;
}  // namespace

in_link::in_link(frame_sink& to, identity const& me)
    : sink_(to), greeting_(me), buffer_(buffer_bytes) {}

std::span<iovec const> in_link::to_write() noexcept {
  if (say_.empty()) return {};
  say_piece_ = {say_.data(), say_.size()};
  return {&say_piece_, 1};
}

void in_link::written(std::size_t bytes) noexcept {
  say_.erase(0, bytes);
  if (say_.empty() && !refusal_.empty()) fail(std::exchange(refusal_, {}));
}

void in_link::greet() {
  std::string rest;
  auto const said = say_.size();
  try {
    rest = greeting_.receive({reinterpret_cast<char const*>(buffer_.data()), end_}, say_);
  } catch (std::exception const& e) {
    if (say_.size() == said) throw;
    refusal_ = e.what();  // the caller is told the verdict first
    end_ = 0;
    return sink_.speaks(*this);
  }
  begin_ = end_ = 0;
  if (!say_.empty()) sink_.speaks(*this);
  if (!greeting_.is_done()) return;
  std::memcpy(buffer_.data(), rest.data(), rest.size());
  end_ = rest.size();
  sink_.greeted(*this);
}

// A large payload is read to its place, and what follows it into the buffer by the same call.
std::span<iovec const> in_link::to_read() noexcept {
  if (over_ || !refusal_.empty()) return {};
  std::size_t n = 0;
  if (data_left_ > 0 && data_to_ != nullptr) pieces_[n++] = {data_to_, data_left_};
  std::size_t room = buffer_.size() - end_;
  if (data_left_ > 0 && data_to_ == nullptr) room = std::min(room, data_left_);
  pieces_[n++] = {buffer_.data() + end_, room};
  return {pieces_.data(), n};
}

void in_link::read(std::size_t bytes) noexcept {
  if (data_left_ > 0) {
    auto const direct = std::min(bytes, data_left_);
    data_left_ -= direct;
    if (data_to_ != nullptr) data_to_ += direct;
    bytes -= direct;
    if (data_left_ > 0) return;
    try {
      sink_.landed(*this, data_);
    } catch (std::exception const& e) {
      return fail(e.what());
    }
  }
  end_ += bytes;
  parse();
}

void in_link::parse() noexcept {
  try {
    if (!greeting_.is_done()) greet();
    if (!greeting_.is_done()) return;
    while (!over_ && data_left_ == 0 && take_frame()) {
    }
  } catch (std::exception const& e) {
    fail(e.what());
  }
  if (begin_ == end_) {
    begin_ = end_ = 0;
  } else if (begin_ > 0) {
    std::memmove(buffer_.data(), buffer_.data() + begin_, end_ - begin_);
    end_ -= std::exchange(begin_, 0);
  }
}

bool in_link::take_frame() {
  auto const there = end_ - begin_;
  if (there < sizeof(frame_head)) return false;
  frame_head head;
  std::memcpy(&head, buffer_.data() + begin_, sizeof head);
  if (auto const fault = fault_of(head); !fault.empty()) {
    fail(fault);
    return false;
  }
  auto const body =
      std::size_t{head.extra_bytes} + (head.kind == frame_kind::data ? 0 : head.payload_bytes);
  if (there < sizeof head + body) {
    if (sizeof head + body > buffer_.size()) buffer_.resize(sizeof head + body);
    return false;
  }
  std::span<std::byte const> const rest(buffer_.data() + begin_ + sizeof head, body);
  begin_ += sizeof head + body;
  if (head.kind == frame_kind::data) {
    begin_data(head);
  } else {
    sink_.arrived(*this, head, rest.first(head.extra_bytes), rest.subspan(head.extra_bytes));
  }
  return true;
}

void in_link::begin_data(frame_head const& head) {
  data_ = head;
  data_to_ = sink_.landing(*this, head);
  data_left_ = head.payload_bytes;
  auto const there = std::min(data_left_, end_ - begin_);
  if (data_to_ != nullptr && there > 0) {
    std::memcpy(data_to_, buffer_.data() + begin_, there);
    data_to_ += there;
  }
  begin_ += there;
  data_left_ -= there;
  if (data_left_ == 0) sink_.landed(*this, head);
}

void in_link::fail(std::string why) noexcept {
  if (over_) return;
  over_ = true;
  sink_.ended(*this, why);
}

void in_link::ended(boost::system::error_code why) noexcept { fail(why.message()); }

}  // namespace hocket::host
