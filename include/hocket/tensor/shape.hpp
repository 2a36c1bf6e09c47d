// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace hocket {

/// The extents of a tensor: at most 8, none negative, held in place. `shape()` is a scalar's.
/// Written `shape(2, 12, 4)`, or `{2, 12, 4}` where a function takes a shape.
class shape {
 public:
  /// The most dimensions.
  static constexpr std::size_t ndim_max = 8;

  constexpr shape() noexcept = default;

  /// The outermost extent first. One that is negative or above 2^63 - 1, or a ninth, is
  /// `errc::invalid_argument`.
  template <std::integral... Extent>
  requires(sizeof...(Extent) >= 1 && (!std::same_as<Extent, bool> && ...))
      shape(Extent... extents) {  // NOLINT: implicit, so that braces are a shape
    (append(std::in_range<std::int64_t>(extents) ? static_cast<std::int64_t>(extents)
                                                 : std::int64_t{-1}),
     ...);
  }

  /// Likewise from a list.
  explicit shape(std::span<std::int64_t const> extents) {
    for (auto const extent : extents) append(extent);
  }

  /// Adds an innermost dimension.
  void append(std::int64_t extent) {
    if (extent < 0 || size_ == ndim_max) fail(extent);
    extents_[size_++] = extent;
  }

  /// Replaces the extent of one dimension; `dim` counts from the front.
  void set(std::size_t dim, std::int64_t extent);

  /// Number of dimensions; 0 for a scalar.
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  /// `dim` counts from the front and must be below `size()`.
  [[nodiscard]] std::int64_t operator[](std::size_t dim) const noexcept { return extents_[dim]; }
  /// @{
  /// The extents, the outermost first; valid as long as the shape.
  [[nodiscard]] std::int64_t const* begin() const noexcept { return extents_.data(); }
  [[nodiscard]] std::int64_t const* end() const noexcept { return extents_.data() + size_; }
  [[nodiscard]] std::span<std::int64_t const> extents() const noexcept { return {begin(), size_}; }
  /// @}

  /// Elements; 1 for a scalar. Throws errc::too_large past 2^63 - 1.
  [[nodiscard]] std::int64_t numel() const;

  /// The dimension as a count from the front; negative ones count from the back.
  /// Throws errc::invalid_argument with the numbers when there is no such dimension.
  [[nodiscard]] std::size_t dim_index(std::int64_t dim) const;

  /// The same extents in the same order.
  friend bool operator==(shape const& a, shape const& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i)
      if (a.extents_[i] != b.extents_[i]) return false;
    return true;
  }

 private:
  [[noreturn]] void fail(std::int64_t extent) const;

  std::array<std::int64_t, ndim_max> extents_{};
  std::size_t size_ = 0;
};

/// "[2,12,4]".
[[nodiscard]] std::string to_string(shape const& s);

}  // namespace hocket
