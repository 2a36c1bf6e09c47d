// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "safetensors.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <cstring>
#include <hocket/error.hpp>
#include <limits>
#include <utility>

namespace embed {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors files are little-endian");

constexpr std::size_t length_bytes = sizeof(std::uint64_t);

struct dtype_size {
  std::string_view name;
  std::int64_t bytes;
};
constexpr std::array<dtype_size, 15> dtype_sizes = {{{"BOOL", 1},
                                                     {"U8", 1},
                                                     {"I8", 1},
                                                     {"F8_E5M2", 1},
                                                     {"F8_E4M3", 1},
                                                     {"I16", 2},
                                                     {"U16", 2},
                                                     {"F16", 2},
                                                     {"BF16", 2},
                                                     {"I32", 4},
                                                     {"U32", 4},
                                                     {"F32", 4},
                                                     {"I64", 8},
                                                     {"U64", 8},
                                                     {"F64", 8}}};

[[noreturn]] void fail(hocket::errc code, std::filesystem::path const& path,
                       std::string_view what) {
  throw hocket::error(code, fmt::format("{}: {}", path.string(), what));
}

std::int64_t bytes_of(std::string_view dtype) noexcept {
  auto const* const found = std::find_if(dtype_sizes.begin(), dtype_sizes.end(),
                                         [dtype](dtype_size d) { return d.name == dtype; });
  return found == dtype_sizes.end() ? 0 : found->bytes;
}

// -1 where the product does not fit.
std::int64_t byte_count(std::span<std::int64_t const> shape, std::int64_t item_bytes) noexcept {
  std::int64_t total = item_bytes;
  for (std::int64_t const n : shape) {
    if (n != 0 && total > std::numeric_limits<std::int64_t>::max() / n) return -1;
    total *= n;
  }
  return total;
}

bool read_counts(boost::json::object const& entry, std::string_view key,
                 std::vector<std::int64_t>& out) {
  boost::json::value const* const value = entry.if_contains(key);
  if (value == nullptr || !value->is_array()) return false;
  out.clear();
  for (boost::json::value const& item : value->get_array()) {
    if (!read_count(item, out.emplace_back())) return false;
  }
  return true;
}

stored_tensor read_entry(std::filesystem::path const& path, std::string_view name,
                         boost::json::value const& value, std::span<std::byte const> data) {
  boost::json::object const* const entry = value.if_object();
  if (entry == nullptr)
    fail(hocket::errc::corrupt, path, fmt::format("\"{}\" is not an object", name));
  stored_tensor tensor;
  boost::json::value const* const dtype = entry->if_contains("dtype");
  std::vector<std::int64_t> offsets;
  if (dtype == nullptr || !dtype->is_string() || !read_counts(*entry, "shape", tensor.shape) ||
      !read_counts(*entry, "data_offsets", offsets) || offsets.size() != 2)
    fail(hocket::errc::corrupt, path,
         fmt::format("\"{}\" needs dtype (string), shape (counts), data_offsets (two counts)",
                     name));
  tensor.dtype = std::string_view(dtype->get_string());
  std::int64_t const item_bytes = bytes_of(tensor.dtype);
  if (item_bytes == 0)
    fail(hocket::errc::unsupported, path,
         fmt::format("\"{}\" has the unknown dtype \"{}\"", name, tensor.dtype));
  auto const begin = static_cast<std::uint64_t>(offsets[0]);
  auto const end = static_cast<std::uint64_t>(offsets[1]);
  if (begin > end || end > data.size())
    fail(hocket::errc::corrupt, path,
         fmt::format("\"{}\" spans bytes [{}, {}) of {}", name, begin, end, data.size()));
  std::int64_t const wanted = byte_count(tensor.shape, item_bytes);
  if (wanted < 0 || static_cast<std::uint64_t>(wanted) != end - begin)
    fail(hocket::errc::corrupt, path,
         fmt::format("\"{}\" is {}[{}] in {} bytes", name, tensor.dtype,
                     fmt::join(tensor.shape, ","), end - begin));
  tensor.bytes = data.subspan(begin, end - begin);
  return tensor;
}

}  // namespace

safetensors_file::safetensors_file(std::filesystem::path path)
    : path_(std::move(path)), file_(path_) {
  read_header();
}

void safetensors_file::read_header() {
  std::span<std::byte const> const bytes = file_.bytes();
  if (bytes.size() < length_bytes)
    fail(hocket::errc::corrupt, path_,
         fmt::format("{} bytes; the header's length alone takes {}", bytes.size(), length_bytes));
  std::uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, bytes.data(), length_bytes);
  if (header_bytes > header_bytes_max)
    fail(hocket::errc::too_large, path_,
         fmt::format("a header of {} bytes, at most {}", header_bytes, header_bytes_max));
  if (header_bytes > bytes.size() - length_bytes)
    fail(hocket::errc::corrupt, path_,
         fmt::format("a header of {} bytes in a file of {}", header_bytes, bytes.size()));
  auto const* const text = reinterpret_cast<char const*>(bytes.data() + length_bytes);
  boost::json::object const header = parse_json_object({text, header_bytes}, path_.string());
  std::span<std::byte const> const data = bytes.subspan(length_bytes + header_bytes);
  for (auto const& [key, value] : header) {
    if (key == "__metadata__") continue;
    std::string_view const name = key;
    tensors_.emplace(name, read_entry(path_, name, value, data));
  }
  check_layout(data.size());
}

// The format allows neither holes nor overlaps. This also finds a name given twice, of which the
// JSON reader keeps one.
void safetensors_file::check_layout(std::size_t data_bytes) const {
  std::vector<std::span<std::byte const>> pieces;
  for (auto const& [name, tensor] : tensors_) {
    if (!tensor.bytes.empty()) pieces.push_back(tensor.bytes);
  }
  std::sort(pieces.begin(), pieces.end(),
            [](auto const& a, auto const& b) { return a.data() < b.data(); });
  std::byte const* const start = file_.bytes().data() + (file_.bytes().size() - data_bytes);
  std::byte const* expected = start;
  for (std::span<std::byte const> const piece : pieces) {
    if (piece.data() != expected)
      fail(hocket::errc::corrupt, path_,
           fmt::format("tensors leave a hole or overlap at byte {}: expected {}",
                       piece.data() - start, expected - start));
    expected = piece.data() + piece.size();
  }
  if (expected != start + data_bytes)
    fail(hocket::errc::corrupt, path_,
         fmt::format("tensors end at byte {} of {}", expected - start, data_bytes));
}

stored_tensor const& safetensors_file::at(std::string_view name) const {
  auto const found = tensors_.find(name);
  if (found == tensors_.end())
    fail(hocket::errc::corrupt, path_,
         fmt::format("none of its {} tensors is \"{}\"", tensors_.size(), name));
  return found->second;
}

std::span<float const> safetensors_file::f32(std::string_view name,
                                             std::span<std::int64_t const> shape) const {
  stored_tensor const& tensor = at(name);
  if (tensor.dtype != "F32")
    fail(hocket::errc::unsupported, path_,
         fmt::format("\"{}\" is {}; only F32 is read", name, tensor.dtype));
  if (!std::equal(shape.begin(), shape.end(), tensor.shape.begin(), tensor.shape.end()))
    fail(hocket::errc::corrupt, path_,
         fmt::format("\"{}\" is [{}], the configuration says [{}]", name,
                     fmt::join(tensor.shape, ","), fmt::join(shape, ",")));
  auto const address = reinterpret_cast<std::uintptr_t>(tensor.bytes.data());
  if (address % alignof(float) != 0)
    fail(hocket::errc::unsupported, path_,
         fmt::format("\"{}\" starts {} bytes past a multiple of {}", name, address % alignof(float),
                     alignof(float)));
  return {reinterpret_cast<float const*>(tensor.bytes.data()), tensor.bytes.size() / sizeof(float)};
}

}  // namespace embed
