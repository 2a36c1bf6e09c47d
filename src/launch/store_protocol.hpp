// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

/// The wire protocol of PyTorch's TCPStore (torch/csrc/distributed/c10d/TCPStore*), without I/O.
/// Native byte order; a text is a u64 length and its bytes; a list begins with a u64 count.
namespace hocket::rdzv {

inline constexpr std::size_t keys_max = 128 * 1024;              ///< of one request
inline constexpr std::size_t key_bytes_max = 8 * 1024;           ///< of one key
inline constexpr std::size_t value_bytes_max = 8 * 1024 * 1024;  ///< of one value
inline constexpr std::size_t request_bytes_max = 64 * 1024 * 1024;

/// Newer clients begin with `validate` and this number.
inline constexpr std::uint32_t validate_magic = 0x3C85F7CE;

/// What a server that wants the authenticated hello says in place of a ping's answer.
inline constexpr std::uint32_t secret_wanted = 0x54524553;

enum class verb : std::uint8_t {
  validate = 0,
  set = 1,
  compare_set = 2,
  get = 3,
  add = 4,
  check = 5,
  wait = 6,
  count_keys = 7,
  erase = 8,
  append = 9,
  multi_get = 10,
  multi_set = 11,
  cancel_wait = 12,
  ping = 13,
};

/// `current` is that of `verb`. In older PyTorch (1.13) there is no `validate`, so the first seven
/// commands have a number less; 7 is watch_key (not spoken here), 8 is erase in both.
enum class numbering : std::uint8_t { current, from_zero };

struct request {
  verb what = verb::ping;
  std::vector<std::string> keys;
  std::vector<std::string> values;
  std::int64_t number = 0;  ///< of add (i64), ping and validate (u32)
};

[[nodiscard]] std::string_view name_of(verb v) noexcept;

/// Appends the request as sent. `from_zero` has no verb above `erase`.
void encode(request const& r, numbering n, std::string& to);

/// Appends parts of an answer.
void put_byte(std::string& to, std::uint8_t value);
void put_word(std::string& to, std::uint32_t value);
void put_number(std::string& to, std::int64_t value);
void put_text(std::string& to, std::string_view value);

/// Reads a number or a length that comes in pieces.
class scalar_reader {
 public:
  void expect(std::size_t bytes) noexcept { size_ = bytes, have_ = 0; }
  /// Takes what it needs from the front of `bytes`; true once it is whole.
  [[nodiscard]] bool feed(std::string_view& bytes) noexcept;
  [[nodiscard]] std::uint64_t value() const noexcept;

 private:
  std::array<char, 8> bytes_{};
  std::size_t size_ = 0;
  std::size_t have_ = 0;
};

/// Takes one request after another out of a stream of bytes. Memory grows with the bytes that have
/// come, not with the lengths they announce.
class request_decoder {
 public:
  explicit request_decoder(numbering n) noexcept : numbering_(n) {}

  /// Takes bytes up to the end of the request and returns the others. Throws `errc::corrupt` for an
  /// unknown command, `errc::too_large` for a length above its cap; then the stream is lost.
  [[nodiscard]] std::string_view feed(std::string_view bytes);
  [[nodiscard]] bool is_whole() const noexcept { return part_ == part::whole; }
  /// True if no byte of the next request has come.
  [[nodiscard]] bool is_between() const noexcept { return part_ == part::verb; }
  /// The whole request; the next one begins.
  [[nodiscard]] request take();

 private:
  enum class part : std::uint8_t { verb, count, key_size, key, value_size, value, number, whole };
  void begin(std::uint8_t code);
  void go_on();
  void take_scalar();
  void take_text(std::string_view& bytes, std::vector<std::string>& to);
  void expect_text(part size_part);
  void announce(std::uint64_t bytes, std::size_t bytes_max, part next,
                std::vector<std::string>& to);

  numbering numbering_;
  part part_ = part::verb;
  request request_;
  scalar_reader scalar_;
  std::size_t items_ = 1;
  std::size_t text_left_ = 0;
  std::size_t total_ = 0;
  bool number_came_ = false;
};

/// What an answer consists of.
enum class reply_form : std::uint8_t { none, byte, word, number, text };

[[nodiscard]] reply_form form_of(verb v) noexcept;

struct reply {
  std::int64_t number = 0;  ///< of a byte, word or number
  std::string text;
};

/// Takes one answer out of a stream of bytes.
class reply_decoder {
 public:
  void expect(reply_form form) noexcept;
  /// Takes bytes up to the end of the answer and returns the others. `errc::too_large` for a text
  /// above the cap of values.
  [[nodiscard]] std::string_view feed(std::string_view bytes);
  [[nodiscard]] bool is_whole() const noexcept { return whole_; }
  [[nodiscard]] reply take() noexcept { return std::move(reply_); }

 private:
  reply_form form_ = reply_form::none;
  bool in_text_ = false;
  bool whole_ = true;
  scalar_reader scalar_;
  std::size_t text_left_ = 0;
  reply reply_;
};

}  // namespace hocket::rdzv
