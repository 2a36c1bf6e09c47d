// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/tensor/dtype.hpp>
#include <hocket/tensor/reduction.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <string>
#include <vector>

/// What every engine must give, worked out in one process by the shortest code there is. Of the
/// library it takes the names of dtypes, reductions and layouts and the bytes of an element;
/// nothing that computes.
namespace hocket::conformance {

using extents = std::vector<std::int64_t>;

[[nodiscard]] std::int64_t count_of(extents const& e);

/// What the tests fill memory with that an operation has not written.
inline constexpr auto untouched = std::byte{0xa5};

/// Elements in row-major order: no views, no sharing.
struct array {
  hocket::dtype dtype = hocket::dtype::u8;
  conformance::extents extents;
  std::vector<std::byte> bytes;

  array() = default;
  /// All bits zero.
  array(hocket::dtype t, conformance::extents e);
  [[nodiscard]] std::int64_t count() const { return count_of(extents); }
  [[nodiscard]] std::byte* at(std::int64_t i);
  [[nodiscard]] std::byte const* at(std::int64_t i) const;
};

/// Well mixed bits of three numbers.
[[nodiscard]] std::uint64_t mixed(std::uint64_t seed, std::uint64_t rank, std::uint64_t index);

/// Any bits, other ones for every seed, rank and element.
[[nodiscard]] array patterned(dtype t, extents const& e, std::uint64_t seed, int rank);
/// Elements whose reduction over at most 8 ranks is exact, so that its order does not show, before
/// it is rounded to the dtype once. Integers are any; min and max also meet NaNs and infinities.
[[nodiscard]] array numbers(dtype t, reduction how, extents const& e, std::uint64_t seed, int rank);
/// This rank's factor of a premultiplied sum; exact in every dtype.
[[nodiscard]] double factor_of(int rank);

/// The indices of one dimension that a part holds, in order; -1: padding.
[[nodiscard]] std::vector<std::int64_t> indices_of(layout how, std::int64_t length, int parts,
                                                   int part);
/// Those indices of a dimension; padding is made of the byte.
[[nodiscard]] array take(array const& whole, std::size_t dim,
                         std::vector<std::int64_t> const& indices,
                         std::byte padding = std::byte{0});
/// Puts a part back where `take` got it from.
void put(array& whole, array const& part, std::size_t dim,
         std::vector<std::int64_t> const& indices);
/// One after the other along dimension 0; scalars count as one element each.
[[nodiscard]] array joined(std::vector<array> const& parts);
/// The `part`-th of `parts` equal pieces along dimension 0, with the extents `e`.
[[nodiscard]] array piece(array const& whole, int parts, int part, extents const& e);

/// Whether the reduction means something for the dtype; the table of the documentation.
[[nodiscard]] bool has_meaning(dtype t, reduction how);
/// All ranks' arrays as one.
[[nodiscard]] array reduced(std::vector<array> const& of, reduction how);

/// Whether two elements are the same bits, or both NaN.
[[nodiscard]] bool same_element(dtype t, std::byte const* a, std::byte const* b);
/// "12.5 (0x4a40)"
[[nodiscard]] std::string spelled(dtype t, std::byte const* element);

}  // namespace hocket::conformance
