// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hocket::detail {

/// Takes a JSON text apart, token by token, for a caller who knows what has to come: it builds
/// nothing, recurses nowhere, and sees a name that is given twice. Throws `errc::corrupt` with the
/// place.
class json_reader {
 public:
  explicit json_reader(std::string_view text) noexcept : text_(text) {}

  /// The next character that is not white space; 0 at the end.
  [[nodiscard]] char peek() noexcept;
  /// Takes it if it is this one.
  [[nodiscard]] bool accept(char c) noexcept;
  /// Takes it; any other is an error.
  void expect(char c);
  /// A string; its escapes are replaced, its UTF-8 is checked.
  [[nodiscard]] std::string string();
  /// An integer from 0 to 2^63 - 1, without sign, fraction, exponent or leading zero.
  [[nodiscard]] std::int64_t count();
  /// There is no more text.
  void expect_end();

  [[noreturn]] void fail(std::string_view what) const;

 private:
  void append_escape(std::string& to);
  void append_sequence(std::string& to);
  [[nodiscard]] std::uint32_t four_hex_digits();

  std::string_view text_;
  std::size_t at_ = 0;
};

/// The length of the UTF-8 sequence at the beginning of a text that is not empty; 0: there is none.
[[nodiscard]] std::size_t utf8_sequence(std::string_view text) noexcept;

}  // namespace hocket::detail
