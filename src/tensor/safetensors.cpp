// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <hocket/error.hpp>
#include <hocket/tensor/safetensors.hpp>
#include <optional>
#include <utility>
#include <vector>

#include "json_reader.hpp"

namespace hocket {
namespace {

using detail::json_reader;

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::string_view metadata_name = "__metadata__";
constexpr std::array<std::pair<dtype, std::string_view>, 16> dtype_names{{
    {dtype::boolean, "BOOL"},
    {dtype::u8, "U8"},
    {dtype::i8, "I8"},
    {dtype::i16, "I16"},
    {dtype::u16, "U16"},
    {dtype::i32, "I32"},
    {dtype::u32, "U32"},
    {dtype::i64, "I64"},
    {dtype::u64, "U64"},
    {dtype::f16, "F16"},
    {dtype::bf16, "BF16"},
    {dtype::f32, "F32"},
    {dtype::f64, "F64"},
    {dtype::c64, "C64"},
    {dtype::f8e4m3, "F8_E4M3"},
    {dtype::f8e5m2, "F8_E5M2"},
}};

dtype read_dtype(std::string const& tensor, std::string const& name) {
  for (auto const& [type, text] : dtype_names)
    if (text == name) return type;
  throw error(errc::unsupported,
              fmt::format("tensor \"{}\" has the dtype \"{}\"", tensor, name.substr(0, 20)));
}

shape read_shape(json_reader& r) {
  shape extents;
  r.expect('[');
  if (r.accept(']')) return extents;
  do {
    auto const n = r.count();
    if (extents.size() == shape::ndim_max)
      throw error(errc::unsupported,
                  fmt::format("a tensor has more than {} dimensions", shape::ndim_max));
    extents.append(n);
  } while (r.accept(','));
  r.expect(']');
  return extents;
}

void read_offsets(json_reader& r, stored_tensor& t) {
  r.expect('[');
  t.begin = static_cast<std::uint64_t>(r.count());
  r.expect(',');
  t.end = static_cast<std::uint64_t>(r.count());
  r.expect(']');
}

// Bytes of the elements; nothing where they are too many to count.
std::optional<std::uint64_t> bytes_of(stored_tensor const& t) {
  if (std::ranges::find(t.shape, 0) != t.shape.end()) return 0;
  std::uint64_t bytes = size_of(t.dtype);
  for (auto const n : t.shape)
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(n), &bytes)) return std::nullopt;
  return bytes;
}

stored_tensor read_tensor(json_reader& r, std::string const& name, std::uint64_t data_bytes) {
  stored_tensor t;
  bool has_dtype = false;
  bool has_shape = false;
  bool has_offsets = false;
  r.expect('{');
  do {
    auto const key = r.string();
    r.expect(':');
    bool* seen = nullptr;
    if (key == "dtype") {
      seen = &has_dtype;
      t.dtype = read_dtype(name, r.string());
    } else if (key == "shape") {
      seen = &has_shape;
      t.shape = read_shape(r);
    } else if (key == "data_offsets") {
      seen = &has_offsets;
      read_offsets(r, t);
    }
    if (seen == nullptr || std::exchange(*seen, true))
      r.fail("a tensor has dtype, shape and data_offsets, once each");
  } while (r.accept(','));
  r.expect('}');
  if (!has_dtype || !has_shape || !has_offsets)
    r.fail("a tensor has dtype, shape and data_offsets, once each");
  auto const bytes = bytes_of(t);
  if (t.begin > t.end || t.end > data_bytes || bytes != t.end - t.begin)
    throw error(errc::corrupt,
                fmt::format("tensor \"{}\": {}{} in bytes [{}, {}) of {}", name, name_of(t.dtype),
                            to_string(t.shape), t.begin, t.end, data_bytes));
  return t;
}

void read_metadata(json_reader& r, safetensors_header& header) {
  r.expect('{');
  if (r.accept('}')) return;
  do {
    auto key = r.string();
    r.expect(':');
    if (!header.metadata.emplace(std::move(key), r.string()).second)
      r.fail("a name of the metadata comes twice");
  } while (r.accept(','));
  r.expect('}');
}

// The format allows neither holes nor overlaps.
void check_layout(safetensors_header const& header, std::uint64_t data_bytes) {
  using place = std::pair<stored_tensor const*, std::string const*>;
  std::vector<place> places;
  for (auto const& [name, t] : header.tensors) places.emplace_back(&t, &name);
  std::ranges::sort(places, {},
                    [](place const& p) { return std::pair(p.first->begin, p.first->end); });
  std::uint64_t expected = 0;
  for (auto const& [t, name] : places) {
    if (t->begin != expected)
      throw error(errc::corrupt, fmt::format("tensor \"{}\" begins at byte {}, but {} comes next: "
                                             "tensors overlap or leave a hole",
                                             *name, t->begin, expected));
    expected = t->end;
  }
  if (expected != data_bytes)
    throw error(errc::corrupt,
                fmt::format("tensors end at byte {}, the file at {}", expected, data_bytes));
}

void append_quoted(std::string& to, std::string_view text) {
  to += '"';
  for (std::size_t i = 0; i < text.size();) {
    auto const n = detail::utf8_sequence(text.substr(i));
    if (n == 0)
      throw error(errc::invalid_argument, fmt::format("byte {} of a name is not UTF-8", i));
    char const c = text[i];
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      to += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      to += text.substr(i, n);
    }
    i += n;
  }
  to += '"';
}

void append_tensor(std::string& to, std::string const& name, stored_tensor const& t) {
  auto const* const known =
      std::ranges::find(dtype_names, t.dtype, &std::pair<dtype, std::string_view>::first);
  if (known == dtype_names.end())
    throw error(errc::unsupported,
                fmt::format("tensor \"{}\": safetensors has no {}", name, name_of(t.dtype)));
  if (name == metadata_name)
    throw error(errc::invalid_argument, "a tensor is called \"__metadata__\"");
  append_quoted(to, name);
  to += fmt::format(":{{\"dtype\":\"{}\",\"shape\":{},\"data_offsets\":[{},{}]}}", known->second,
                    to_string(t.shape), t.begin, t.end);
}

}  // namespace

safetensors_header parse_safetensors_header(std::string_view text, std::uint64_t data_bytes) {
  if (text.size() > safetensors_header_max)
    throw error(errc::too_large, fmt::format("a header of {} bytes, at most {}", text.size(),
                                             safetensors_header_max));
  safetensors_header header;
  json_reader r(text);
  bool has_metadata = false;
  r.expect('{');
  if (!r.accept('}')) {
    do {
      auto name = r.string();
      r.expect(':');
      if (name == metadata_name) {
        if (std::exchange(has_metadata, true)) r.fail("__metadata__ comes twice");
        read_metadata(r, header);
        continue;
      }
      auto const t = read_tensor(r, name, data_bytes);
      if (!header.tensors.emplace(std::move(name), t).second) r.fail("a tensor's name comes twice");
    } while (r.accept(','));
    r.expect('}');
  }
  r.expect_end();
  check_layout(header, data_bytes);
  return header;
}

std::string write_safetensors_header(safetensors_header const& header) {
  std::string text(sizeof(std::uint64_t), '\0');
  text += '{';
  auto const separate = [&text] {
    if (text.back() != '{') text += ',';
  };
  if (!header.metadata.empty()) {
    append_quoted(text, metadata_name);
    text += ":{";
    for (auto const& [key, value] : header.metadata) {
      separate();
      append_quoted(text, key);
      text += ':';
      append_quoted(text, value);
    }
    text += '}';
  }
  for (auto const& [name, t] : header.tensors) {
    separate();
    append_tensor(text, name, t);
  }
  text += '}';
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::uint64_t const length = text.size() - sizeof(std::uint64_t);
  for (std::size_t i = 0; i < sizeof(length); ++i)
    text[i] = static_cast<char>(length >> (8 * i) & 0xffu);
  return text;
}

}  // namespace hocket
