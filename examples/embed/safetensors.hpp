// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "files.hpp"

namespace embed {

/// One tensor of a safetensors file: its type as the file spells it ("F32"), its shape, its bytes.
struct stored_tensor {
  std::string dtype;
  std::vector<std::int64_t> shape;
  std::span<std::byte const> bytes;
};

/// A safetensors file, mapped: a little-endian u64 length, a JSON header of that length, then the
/// tensors' bytes, gap-free (format: the safetensors README). Every number of the header is checked
/// before the first tensor can be asked for, so a hostile file gives an error, never a stray read.
/// Immutable; any number of threads.
class safetensors_file {
 public:
  /// The format's own cap on the header.
  static constexpr std::uint64_t header_bytes_max = 100'000'000;

  /// Throws `hocket::error`: a system code if the file cannot be mapped, `errc::too_large` for a
  /// header above the cap, `errc::unsupported` for an unknown dtype, `errc::corrupt` for the rest.
  explicit safetensors_file(std::filesystem::path path);

  /// The tensor of that name; throws `errc::corrupt` if the file has none.
  [[nodiscard]] stored_tensor const& at(std::string_view name) const;

  /// The values of an F32 tensor of exactly this shape, in row-major order; they live as long as
  /// this object. Throws `errc::unsupported` for another dtype or values that are not aligned to
  /// 4 bytes, `errc::corrupt` for another shape or a missing tensor.
  [[nodiscard]] std::span<float const> f32(std::string_view name,
                                           std::span<std::int64_t const> shape) const;

  [[nodiscard]] std::size_t size() const noexcept { return tensors_.size(); }
  /// By name.
  [[nodiscard]] std::map<std::string, stored_tensor, std::less<>> const& tensors() const noexcept {
    return tensors_;
  }
  [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

 private:
  void read_header();
  void check_layout(std::size_t data_bytes) const;

  std::filesystem::path path_;
  mapped_file file_;
  std::map<std::string, stored_tensor, std::less<>> tensors_;
};

}  // namespace embed
