// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "bert_words.hpp"

#include <fmt/format.h>
#include <unicode/normalizer2.h>
#include <unicode/uchar.h>
#include <unicode/unistr.h>
#include <unicode/utf8.h>

#include <cstdint>
#include <hocket/error.hpp>
#include <limits>

namespace embed {
namespace {

// Categories as of Unicode 8.0, which the model and the tokenisers made for it were built with: a
// character that came later belongs to none of them, whatever the installed ICU knows of it.
bool has_category(UChar32 c, std::uint32_t mask) noexcept {
  if ((U_GET_GC_MASK(c) & mask) == 0) return false;
  UVersionInfo age = {};
  u_charAge(c, age);
  return age[0] <= 8;
}

bool is_control(UChar32 c) noexcept {
  if (c == '\t' || c == '\n' || c == '\r') return false;
  return has_category(c, U_GC_CC_MASK | U_GC_CF_MASK | U_GC_CO_MASK);
}

bool is_space(UChar32 c) noexcept { return u_isUWhiteSpace(c) != 0; }

// All ASCII marks count, also those that Unicode calls symbols ($ + < = > ^ ` | ~).
bool is_punctuation(UChar32 c) noexcept {
  if (c < 0x80) return c > ' ' && c < 0x7f && u_isalnum(c) == 0;
  return has_category(c, U_GC_P_MASK);
}

// The ideograph blocks of BERT's own tokeniser; Hangul and kana are written with spaces or not
// at all there, and stay whole.
bool is_ideograph(UChar32 c) noexcept {
  return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
         (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B73F) ||
         (c >= 0x2B740 && c <= 0x2B81F) || (c >= 0x2B920 && c <= 0x2CEAF) ||
         (c >= 0xF900 && c <= 0xFAFF) || (c >= 0x2F800 && c <= 0x2FA1F);
}

icu::UnicodeString decoded(std::string_view text) {
  // ICU counts UTF-16 units in 32 bits; an ideograph and its two spaces take three for three bytes.
  constexpr std::size_t bytes_max = std::numeric_limits<std::int32_t>::max() / 4;
  if (text.size() > bytes_max)
    throw hocket::error(
        hocket::errc::too_large,
        fmt::format("a text of {} bytes; at most {} can be tokenised", text.size(), bytes_max));
  return icu::UnicodeString::fromUTF8({text.data(), static_cast<std::int32_t>(text.size())});
}

icu::UnicodeString cleaned(icu::UnicodeString const& text) {
  icu::UnicodeString out;
  for (std::int32_t i = 0; i < text.length(); i = text.moveIndex32(i, 1)) {
    UChar32 const c = text.char32At(i);
    if (c == 0 || c == 0xFFFD || is_control(c)) continue;
    if (is_space(c)) {
      out.append(UChar32{' '});
    } else if (is_ideograph(c)) {
      out.append(UChar32{' '}).append(c).append(UChar32{' '});
    } else {
      out.append(c);
    }
  }
  return out;
}

icu::UnicodeString decomposed(icu::UnicodeString const& text) {
  UErrorCode status = U_ZERO_ERROR;
  icu::Normalizer2 const* const nfd = icu::Normalizer2::getNFDInstance(status);
  icu::UnicodeString out;
  if (U_SUCCESS(status)) nfd->normalize(text, out, status);
  if (U_FAILURE(status))
    throw hocket::error(hocket::errc::unsupported,
                        fmt::format("ICU cannot normalise text: {}", u_errorName(status)));
  return out;
}

#pragma GCC diagnostic push  // ICU's macro narrows
#pragma GCC diagnostic ignored "-Wconversion"
// Negative where the bytes at `i` are ill-formed; moves `i` past what it read.
UChar32 next_code_point(std::string_view text, std::size_t& i) noexcept {
  UChar32 c = 0;
  U8_NEXT(text.data(), i, text.size(), c);
  return c;
}
#pragma GCC diagnostic pop

void append_utf8(std::string& out, UChar32 c) {
  char bytes[U8_MAX_LENGTH];
  std::int32_t length = 0;
  U8_APPEND_UNSAFE(bytes, length, c);
  out.append(bytes, static_cast<std::size_t>(length));
}

}  // namespace

std::vector<std::string> bert_words(std::string_view text) {
  icu::UnicodeString const letters = decomposed(cleaned(decoded(text)));
  std::vector<std::string> words;
  bool is_open = false;
  for (std::int32_t i = 0; i < letters.length(); i = letters.moveIndex32(i, 1)) {
    UChar32 const c = letters.char32At(i);
    if (has_category(c, U_GC_MN_MASK)) continue;
    // One letter at a time: no final sigma, no locale.
    UChar32 const lower = u_tolower(c);
    bool const is_mark = is_punctuation(lower);
    if (is_space(lower)) {
      is_open = false;
      continue;
    }
    if (!is_open || is_mark) words.emplace_back();
    append_utf8(words.back(), lower);
    is_open = !is_mark;
  }
  return words;
}

std::size_t count_code_points(std::string_view text) noexcept {
  std::size_t n = 0;
  for (char const c : text) n += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1 : 0;
  return n;
}

std::size_t find_ill_formed_utf8(std::string_view text) noexcept {
  std::size_t i = 0;
  while (i < text.size()) {
    std::size_t const first = i;
    if (next_code_point(text, i) < 0) return first;
  }
  return std::string_view::npos;
}

}  // namespace embed
