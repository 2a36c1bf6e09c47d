// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "launch/store_protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <utility>

namespace hocket::rdzv {
namespace {

// What stands behind a verb: a count or not, then per item keys and values, then a number.
struct form {
  bool is_counted = false;
  std::uint8_t keys = 0;
  std::uint8_t values = 0;
  std::uint8_t number_bytes = 0;
};

constexpr form form_behind(verb v) noexcept {
  switch (v) {
    case verb::validate:
    case verb::ping:
      return {false, 0, 0, 4};
    case verb::set:
    case verb::append:
      return {false, 1, 1, 0};
    case verb::compare_set:
      return {false, 1, 2, 0};
    case verb::get:
    case verb::erase:
      return {false, 1, 0, 0};
    case verb::add:
      return {false, 1, 0, 8};
    case verb::check:
    case verb::wait:
    case verb::multi_get:
      return {true, 1, 0, 0};
    case verb::multi_set:
      return {true, 1, 1, 0};
    case verb::count_keys:
    case verb::cancel_wait:
      break;
  }
  return {};
}

constexpr std::uint8_t last_of_from_zero = 8;  // its erase
constexpr std::uint8_t watch_key = 7;

constexpr std::uint8_t code_of(verb v, numbering n) noexcept {
  auto const code = static_cast<std::uint8_t>(v);
  return n == numbering::current || v == verb::erase ? code : static_cast<std::uint8_t>(code - 1);
}

verb verb_of(std::uint8_t code, numbering n) {
  bool const is_known = n == numbering::current ? code <= static_cast<std::uint8_t>(verb::ping)
                                                : code <= last_of_from_zero && code != watch_key;
  if (!is_known)
    throw error(errc::corrupt, fmt::format("{} is no command of a TCPStore{}", code,
                                           n == numbering::current ? "" : " (old numbering)"));
  if (n == numbering::current || code == last_of_from_zero) return static_cast<verb>(code);
  return static_cast<verb>(code + 1);
}

template <class T>
void put(std::string& to, T value) {
  to.append(reinterpret_cast<char const*>(&value), sizeof value);
}

// As much of a text as is there, and not more memory than that.
void append_some(std::string_view& bytes, std::size_t& left, std::string& to) {
  auto const some = bytes.substr(0, left);
  to += some;
  left -= some.size();
  bytes.remove_prefix(some.size());
}

}  // namespace

std::string_view name_of(verb v) noexcept {
  constexpr std::array<std::string_view, 14> names{
      "validate",   "set",   "compare_set", "get",       "add",       "check",       "wait",
      "count_keys", "erase", "append",      "multi_get", "multi_set", "cancel_wait", "ping"};
  return names[static_cast<std::size_t>(v)];
}

void put_byte(std::string& to, std::uint8_t value) { put(to, value); }
void put_word(std::string& to, std::uint32_t value) { put(to, value); }
void put_number(std::string& to, std::int64_t value) { put(to, value); }
void put_text(std::string& to, std::string_view value) {
  put(to, static_cast<std::uint64_t>(value.size()));
  to += value;
}

void encode(request const& r, numbering n, std::string& to) {
  HOCKET_ASSERT(n == numbering::current || r.what <= verb::erase);
  auto const behind = form_behind(r.what);
  put_byte(to, code_of(r.what, n));
  if (behind.is_counted) put(to, static_cast<std::uint64_t>(r.keys.size()));
  auto value = r.values.begin();
  for (auto const& key : r.keys) {
    put_text(to, key);
    for (int i = 0; i < behind.values; ++i) put_text(to, *value++);
  }
  if (behind.number_bytes == 4) put_word(to, static_cast<std::uint32_t>(r.number));
  if (behind.number_bytes == 8) put_number(to, r.number);
}

bool scalar_reader::feed(std::string_view& bytes) noexcept {
  auto const some = std::min(bytes.size(), size_ - have_);
  std::memcpy(bytes_.data() + have_, bytes.data(), some);
  have_ += some;
  bytes.remove_prefix(some);
  return have_ == size_;
}

std::uint64_t scalar_reader::value() const noexcept {
  HOCKET_ASSERT(have_ == size_);
  if (size_ == 1) return static_cast<unsigned char>(bytes_[0]);
  if (size_ == 4) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes_.data(), sizeof word);
    return word;
  }
  std::uint64_t all = 0;
  std::memcpy(&all, bytes_.data(), sizeof all);
  return all;
}

std::string_view request_decoder::feed(std::string_view bytes) {
  while (!bytes.empty() && part_ != part::whole) {
    switch (part_) {
      case part::verb:
        begin(static_cast<std::uint8_t>(bytes.front()));
        bytes.remove_prefix(1);
        break;
      case part::key:
        take_text(bytes, request_.keys);
        break;
      case part::value:
        take_text(bytes, request_.values);
        break;
      default:
        if (scalar_.feed(bytes)) take_scalar();
    }
  }
  return bytes;
}

request request_decoder::take() {
  HOCKET_ASSERT(is_whole());
  part_ = part::verb;
  return std::exchange(request_, {});
}

void request_decoder::begin(std::uint8_t code) {
  request_.what = verb_of(code, numbering_);
  items_ = 1;
  total_ = 0;
  number_came_ = false;
  if (form_behind(request_.what).is_counted) {
    part_ = part::count;
    scalar_.expect(8);
  } else {
    go_on();
  }
}

// Chooses the next part by what has come: the values of a key follow it.
void request_decoder::go_on() {
  auto const behind = form_behind(request_.what);
  if (request_.values.size() < request_.keys.size() * behind.values) {
    expect_text(part::value_size);
  } else if (request_.keys.size() < items_ * behind.keys) {
    expect_text(part::key_size);
  } else if (behind.number_bytes != 0 && !number_came_) {
    part_ = part::number;
    scalar_.expect(behind.number_bytes);
  } else {
    part_ = part::whole;
  }
}

void request_decoder::expect_text(part size_part) {
  part_ = size_part;
  scalar_.expect(8);
}

void request_decoder::take_scalar() {
  auto const value = scalar_.value();
  switch (part_) {
    case part::count:
      if (value > keys_max)
        throw error(errc::too_large, fmt::format("{} of {} keys, at most {}",
                                                 name_of(request_.what), value, keys_max));
      items_ = static_cast<std::size_t>(value);
      go_on();
      break;
    case part::key_size:
      announce(value, key_bytes_max, part::key, request_.keys);
      break;
    case part::value_size:
      announce(value, value_bytes_max, part::value, request_.values);
      break;
    default:
      number_came_ = true;
      request_.number = static_cast<std::int64_t>(value);
      go_on();
  }
}

void request_decoder::announce(std::uint64_t bytes, std::size_t bytes_max, part next,
                               std::vector<std::string>& to) {
  if (bytes > bytes_max)
    throw error(errc::too_large,
                fmt::format("{} with a {} of {} bytes, at most {}", name_of(request_.what),
                            next == part::key ? "key" : "value", bytes, bytes_max));
  total_ += static_cast<std::size_t>(bytes);
  if (total_ > request_bytes_max)
    throw error(errc::too_large,
                fmt::format("{} of more than {} bytes", name_of(request_.what), request_bytes_max));
  to.emplace_back();
  text_left_ = static_cast<std::size_t>(bytes);
  part_ = next;
  if (text_left_ == 0) go_on();
}

void request_decoder::take_text(std::string_view& bytes, std::vector<std::string>& to) {
  append_some(bytes, text_left_, to.back());
  if (text_left_ == 0) go_on();
}

reply_form form_of(verb v) noexcept {
  switch (v) {
    case verb::compare_set:
    case verb::get:
      return reply_form::text;
    case verb::add:
    case verb::count_keys:
    case verb::erase:
      return reply_form::number;
    case verb::check:
    case verb::wait:
    case verb::cancel_wait:
      return reply_form::byte;
    case verb::ping:
      return reply_form::word;
    default:
      return reply_form::none;
  }
}

void reply_decoder::expect(reply_form form) noexcept {
  form_ = form;
  in_text_ = false;
  whole_ = form == reply_form::none;
  reply_ = {};
  scalar_.expect(form == reply_form::byte ? 1 : form == reply_form::word ? 4 : 8);
}

std::string_view reply_decoder::feed(std::string_view bytes) {
  while (!whole_ && !bytes.empty()) {
    if (in_text_) {
      append_some(bytes, text_left_, reply_.text);
      whole_ = text_left_ == 0;
    } else if (scalar_.feed(bytes)) {
      auto const value = scalar_.value();
      if (form_ == reply_form::text) {
        if (value > value_bytes_max)
          throw error(errc::too_large,
                      fmt::format("a value of {} bytes, at most {}", value, value_bytes_max));
        text_left_ = static_cast<std::size_t>(value);
        in_text_ = true;
        whole_ = value == 0;
      } else {
        reply_.number = static_cast<std::int64_t>(value);
        whole_ = true;
      }
    }
  }
  return bytes;
}

}  // namespace hocket::rdzv
