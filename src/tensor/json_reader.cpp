// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "json_reader.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>

namespace hocket::detail {
namespace {

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }

// A code point that is no surrogate.
void append_utf8(std::string& to, std::uint32_t c) {
  auto const put = [&to](std::uint32_t byte) { to += static_cast<char>(byte); };
  auto const tail = [&put, c](unsigned shift) { put(0x80u | (c >> shift & 0x3fu)); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0u | c >> 6);
    return tail(0);
  }
  if (c < 0x10000) {
    put(0xe0u | c >> 12);
    tail(6);
    return tail(0);
  }
  put(0xf0u | c >> 18);
  tail(12);
  tail(6);
  tail(0);
}

}  // namespace

// Well-formed sequences: Unicode 15, table 3-7.
std::size_t utf8_sequence(std::string_view text) noexcept {
  auto const byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u;
  };
  auto const is_tail = [&](std::size_t i) { return byte(i) >= 0x80 && byte(i) <= 0xbf; };
  unsigned const first = byte(0);
  unsigned const second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return is_tail(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    bool const range =
        is_tail(1) && !(first == 0xe0 && second < 0xa0) && !(first == 0xed && second > 0x9f);
    return range && is_tail(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    bool const range =
        is_tail(1) && !(first == 0xf0 && second < 0x90) && !(first == 0xf4 && second > 0x8f);
    return range && is_tail(2) && is_tail(3) ? 4 : 0;
  }
  return 0;
}

void json_reader::fail(std::string_view what) const {
  throw error(errc::corrupt, fmt::format("byte {} of {}: {}", at_, text_.size(), what));
}

char json_reader::peek() noexcept {
  while (at_ < text_.size() &&
         (text_[at_] == ' ' || text_[at_] == '\t' || text_[at_] == '\n' || text_[at_] == '\r'))
    ++at_;
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool json_reader::accept(char c) noexcept {
  if (peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void json_reader::expect(char c) {
  if (!accept(c)) fail(fmt::format("'{}' must come here", c));
}

void json_reader::expect_end() {
  static_cast<void>(peek());
  if (at_ != text_.size()) fail("nothing may follow");
}

std::string json_reader::string() {
  expect('"');
  std::string s;
  for (;;) {
    if (at_ == text_.size()) fail("a string does not end");
    char const c = text_[at_];
    if (c == '"') break;
    if (static_cast<unsigned char>(c) < 0x20) fail("a control character in a string");
    if (c == '\\') {
      append_escape(s);
    } else {
      append_sequence(s);
    }
  }
  ++at_;
  return s;
}

void json_reader::append_sequence(std::string& to) {
  auto const n = utf8_sequence(text_.substr(at_));
  if (n == 0) fail("invalid UTF-8");
  to += text_.substr(at_, n);
  at_ += n;
}

void json_reader::append_escape(std::string& to) {
  constexpr std::string_view names = "\"\\/bfnrt";
  constexpr std::string_view values = "\"\\/\b\f\n\r\t";
  if (++at_ == text_.size()) fail("a string does not end");
  char const c = text_[at_++];
  if (auto const i = names.find(c); i != std::string_view::npos) {
    to += values[i];
    return;
  }
  if (c != 'u') fail("an unknown escape");
  auto point = four_hex_digits();
  if (point >= 0xdc00 && point <= 0xdfff) fail("half a surrogate pair");
  if (point >= 0xd800 && point <= 0xdbff) {
    if (text_.substr(at_, 2) != "\\u") fail("half a surrogate pair");
    at_ += 2;
    auto const low = four_hex_digits();
    if (low < 0xdc00 || low > 0xdfff) fail("half a surrogate pair");
    point = 0x10000u + ((point - 0xd800u) << 10) + (low - 0xdc00u);
  }
  append_utf8(to, point);
}

std::uint32_t json_reader::four_hex_digits() {
  if (text_.size() - at_ < 4) fail("\\u needs four hexadecimal digits");
  std::uint32_t value = 0;
  for (int i = 0; i < 4; ++i) {
    char const c = text_[at_++];
    std::uint32_t digit = 0;
    if (is_digit(c)) {
      digit = static_cast<std::uint32_t>(c - '0');
    } else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) {
      digit = static_cast<std::uint32_t>((c | 0x20) - 'a') + 10;
    } else {
      fail("\\u needs four hexadecimal digits");
    }
    value = value << 4 | digit;
  }
  return value;
}

std::int64_t json_reader::count() {
  static_cast<void>(peek());
  auto const start = at_;
  std::int64_t value = 0;
  for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
    if (__builtin_mul_overflow(value, std::int64_t{10}, &value) ||
        __builtin_add_overflow(value, static_cast<std::int64_t>(text_[at_] - '0'), &value))
      fail("a count above 2^63 - 1");
  bool const ends = at_ == text_.size() || (text_[at_] != '.' && (text_[at_] | 0x20) != 'e');
  if (at_ == start || !ends || (text_[start] == '0' && at_ != start + 1))
    fail("a count, 0 or more, must come here");
  return value;
}

}  // namespace hocket::detail
