// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <boost/core/demangle.hpp>
#include <group/object_frame.hpp>
#include <hocket/detail/assert.hpp>
#include <hocket/group/detail/object_reader.hpp>
#include <hocket/group/object_header.hpp>
#include <utility>

namespace hocket::detail {
namespace {

std::string name_of(wire_tag t) {
  switch (t) {
    case wire_tag::unit:
      return "unit";
    case wire_tag::boolean:
      return "bool";
    case wire_tag::i64:
      return "i64";
    case wire_tag::u64:
      return "u64";
    case wire_tag::f32:
      return "f32";
    case wire_tag::f64:
      return "f64";
    case wire_tag::string:
      return "string";
    case wire_tag::bytes:
      return "bytes";
    case wire_tag::list:
      return "list";
    case wire_tag::packed:
      return "packed array";
    case wire_tag::tuple:
      return "tuple";
    case wire_tag::map:
      return "map";
    case wire_tag::none:
      return "empty optional";
    case wire_tag::some:
      return "optional";
    case wire_tag::variant:
      return "variant";
    case wire_tag::structure:
      return "struct";
    case wire_tag::tensor:
      return "tensor";
    case wire_tag::no_tensor:
      return "undefined tensor";
  }
  return {};
}

bool is_integer(dtype t) noexcept { return t >= dtype::u8 && t <= dtype::u64; }

bool is_packed(std::uint8_t type) noexcept {
  if (!is_dtype(type)) return false;
  auto const t = static_cast<dtype>(type);
  return is_integer(t) || t == dtype::f32 || t == dtype::f64;
}

template <class T>
wide_integer widened(std::byte const* from) noexcept {
  T const n = load<T>(from);
  return {static_cast<std::uint64_t>(n), std::cmp_less(n, 0)};
}

}  // namespace

wide_integer integer_at(dtype type, std::byte const* from) noexcept {
  switch (type) {
    case dtype::u8:
      return widened<std::uint8_t>(from);
    case dtype::i8:
      return widened<std::int8_t>(from);
    case dtype::i16:
      return widened<std::int16_t>(from);
    case dtype::u16:
      return widened<std::uint16_t>(from);
    case dtype::i32:
      return widened<std::int32_t>(from);
    case dtype::u32:
      return widened<std::uint32_t>(from);
    case dtype::i64:
      return widened<std::int64_t>(from);
    default:
      HOCKET_ASSERT(type == dtype::u64);
      return widened<std::uint64_t>(from);
  }
}

object_reader::object_reader(parcel const& p, object_limits const& limits)
    : limits_(limits), tensors_(p.tensors) {
  auto const bytes = std::as_bytes(p.bytes.as_span<std::uint8_t>());
  if (p.bytes.ndim() != 1)
    throw error(errc::invalid_argument,
                fmt::format("object: {} given, its bytes have one dimension", brief(p.bytes)));
  auto const frame = check_frame(bytes, limits);
  data_ = bytes.data();
  at_ = mark_ = object_header_bytes;
  end_ = frame.table_at;
  if (frame.header.tensor_count != tensors_.size())
    throw error(errc::mismatch, fmt::format("object: holds {} tensors, {} are attached",
                                            frame.header.tensor_count, tensors_.size()));
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    auto const form = tensor_row(bytes, frame.table_at, i);
    tensor const& t = tensors_[i];
    if (!t.defined() || t.dtype() != form.dtype || t.shape() != form.shape)
      throw error(errc::mismatch,
                  fmt::format("object: its tensor {} is {}{}, {} is attached", i,
                              name_of(form.dtype), to_string(form.shape), brief(t)));
  }
}

void object_reader::finish() const {
  HOCKET_ASSERT(depth_ == 0);
  if (at_ != end_)
    throw error(errc::mismatch,
                fmt::format("object: the value ends at byte {}, {} more follow", at_, end_ - at_));
  if (tensors_read_ != tensors_.size())
    throw error(errc::mismatch, fmt::format("object: {} tensors are attached, the value has {}",
                                            tensors_.size(), tensors_read_));
}

void object_reader::expect(wire_tag t) {
  mark_ = at_;
  auto const got = tag();
  if (got != t) [[unlikely]]
    unexpected(name_of(t), got);
}

bool object_reader::boolean() {
  expect(wire_tag::boolean);
  auto const value = number<std::uint8_t>();
  if (value > 1) fail(errc::corrupt, fmt::format("a bool of {}", value));
  return value == 1;
}

wide_integer object_reader::integer() {
  mark_ = at_;
  auto const got = tag();
  if (got != wire_tag::i64 && got != wire_tag::u64) [[unlikely]]
    unexpected("i64 or u64", got);
  auto const bits = number<std::uint64_t>();
  return {bits, got == wire_tag::i64 && static_cast<std::int64_t>(bits) < 0};
}

std::uint64_t object_reader::count(wire_tag t) {
  expect(t);
  auto const n = number<std::uint64_t>();
  if (n > left())  // every value has a byte at least
    fail(errc::corrupt, fmt::format("{} of {} values, {} bytes are left", name_of(t), n, left()));
  return n;
}

void object_reader::exact_count(wire_tag t, std::uint64_t expected) {
  auto const n = count(t);
  if (n != expected) wrong_size(n, expected);
}

std::span<std::byte const> object_reader::blob(wire_tag t) {
  expect(t);
  auto const n = number<std::uint64_t>();
  return {take(n), static_cast<std::size_t>(n)};
}

bool object_reader::presence() {
  mark_ = at_;
  auto const got = tag();
  if (got != wire_tag::some && got != wire_tag::none) [[unlikely]]
    unexpected("optional", got);
  return got == wire_tag::some;
}

std::uint64_t object_reader::alternative(std::uint64_t alternatives) {
  expect(wire_tag::variant);
  auto const index = number<std::uint64_t>();
  if (index >= alternatives)
    fail(errc::mismatch, fmt::format("alternative {} of a variant of {}", index, alternatives));
  return index;
}

hocket::tensor object_reader::attached() {
  mark_ = at_;
  auto const got = tag();
  if (got == wire_tag::no_tensor) return {};
  if (got != wire_tag::tensor) [[unlikely]]
    unexpected("tensor", got);
  auto const index = number<std::uint64_t>();
  if (index != tensors_read_ || index >= tensors_.size())
    fail(errc::corrupt,
         fmt::format("tensor {}, the next of {} is {}", index, tensors_.size(), tensors_read_));
  return tensors_[tensors_read_++];
}

object_reader::elements object_reader::packed(dtype wanted) {
  expect(wire_tag::packed);
  auto const type = number<std::uint8_t>();
  if (!is_packed(type)) fail(errc::corrupt, fmt::format("packed array of dtype {}", type));
  auto const got = static_cast<dtype>(type);
  if (got != wanted && !(is_integer(got) && is_integer(wanted)))
    fail(errc::mismatch, fmt::format("expected packed array of {}, got packed array of {}",
                                     hocket::name_of(wanted), hocket::name_of(got)));
  auto const n = number<std::uint64_t>();
  if (n > left() / size_of(got))
    fail(errc::corrupt,
         fmt::format("packed array of {} {}, {} bytes are left", n, hocket::name_of(got), left()));
  return {got, n, take(n * size_of(got))};
}

void object_reader::enter() {
  if (depth_ == limits_.depth_max())
    throw error(errc::too_large,
                fmt::format("object: {} levels of structs and containers at byte {}, at most {} "
                            "allowed",
                            std::uint64_t{depth_} + 1, at_, limits_.depth_max()));
  ++depth_;
}

object_reader::place object_reader::begin_struct(std::type_info const& type) {
  expect(wire_tag::structure);
  place const outer = here_;
  here_ = place();
  here_.type = &type;
  here_.version = number<std::uint32_t>();
  here_.version_asked = false;
  return outer;
}

void object_reader::end_struct(place const& outer) {
  mark_ = at_;
  if (auto const name = next_name(); !name.empty())
    fail(errc::mismatch, fmt::format("expected the struct's end, got field {:?}", name));
  if (!here_.version_asked) version(0);
  here_ = outer;
}

std::uint32_t object_reader::version(std::uint32_t current, std::uint32_t oldest) {
  here_.version_asked = true;
  if (here_.version < oldest || here_.version > current) {
    mark_ = at_;
    fail(errc::mismatch, fmt::format("struct of version {}, this program reads {} to {}",
                                     here_.version, oldest, current));
  }
  return here_.version;
}

std::string_view object_reader::next_name() {
  auto const length = number<std::uint8_t>();
  return {reinterpret_cast<char const*>(take(length)), length};
}

void object_reader::field(std::string_view name) {
  mark_ = at_;
  auto const got = next_name();
  if (got.empty())
    fail(errc::mismatch, fmt::format("expected field \"{}\", got the struct's end", name));
  if (got != name)
    fail(errc::mismatch, fmt::format("expected field \"{}\", got field {:?}", name, got));
  here_.field = name;
}

void object_reader::short_by(std::uint64_t n) const {
  fail(errc::corrupt, fmt::format("{} bytes wanted, {} are left", n, left()));
}

void object_reader::unexpected(std::string_view expected, wire_tag got) const {
  auto const name = name_of(got);
  if (name.empty())
    fail(errc::corrupt,
         fmt::format("expected {}, got unknown type {}", expected, static_cast<unsigned>(got)));
  fail(errc::mismatch, fmt::format("expected {}, got {}", expected, name));
}

void object_reader::does_not_fit(wide_integer n, std::size_t bytes, bool is_signed) const {
  auto const number =
      n.negative ? fmt::format("{}", static_cast<std::int64_t>(n.bits)) : fmt::format("{}", n.bits);
  fail(errc::corrupt,
       fmt::format("{} does not fit {}{}", number, is_signed ? 'i' : 'u', 8 * bytes));
}

void object_reader::wrong_size(std::uint64_t have, std::uint64_t expected) const {
  fail(errc::mismatch, fmt::format("expected {} elements, got {}", expected, have));
}

void object_reader::duplicate_key() const { fail(errc::corrupt, "a map has a key twice"); }

void object_reader::fail(errc code, std::string_view what) const {
  throw error(code, fmt::format("object: {} at byte {}{}", what, mark_, where()));
}

std::string object_reader::where() const {
  if (here_.type == nullptr) return {};
  auto const type = boost::core::demangle(here_.type->name());
  if (here_.field.empty()) return fmt::format(", in {}", type);
  return fmt::format(", in {}.{}", type, here_.field);
}

}  // namespace hocket::detail
