// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstring>
#include <hocket/error.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hocket::host {

/// Appends plain values to the body of a letter.
class byte_writer {
 public:
  explicit byte_writer(std::vector<std::byte>& to) noexcept : to_(to) {}
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(T const& value) {
    put_bytes({reinterpret_cast<std::byte const*>(&value), sizeof value});
  }
  void put_text(std::string_view text) {
    auto const n = static_cast<std::uint32_t>(std::min(text.size(), text_bytes_max));
    put(n);
    put_bytes(std::as_bytes(std::span(text.data(), n)));
  }
  void put_bytes(std::span<std::byte const> bytes) {
    to_.insert(to_.end(), bytes.begin(), bytes.end());
  }
  static constexpr std::size_t text_bytes_max = 16 * 1024;

 private:
  std::vector<std::byte>& to_;
};

/// Takes them out again. `errc::corrupt` past the end.
class byte_reader {
 public:
  explicit byte_reader(std::span<std::byte const> from) noexcept : left_(from) {}
  template <class T>
  requires std::is_trivially_copyable_v<T>
  [[nodiscard]] T take() {
    T value{};
    auto const bytes = take_bytes(sizeof value);
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  }
  [[nodiscard]] std::string take_text() {
    auto const bytes = take_bytes(take<std::uint32_t>());
    return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
  }
  [[nodiscard]] std::span<std::byte const> take_bytes(std::size_t n) {
    if (n > left_.size()) throw error(errc::corrupt, "a frame ends in the middle of a value");
    auto const taken = left_.first(n);
    left_ = left_.subspan(n);
    return taken;
  }
  [[nodiscard]] bool empty() const noexcept { return left_.empty(); }

 private:
  std::span<std::byte const> left_;
};

}  // namespace hocket::host
