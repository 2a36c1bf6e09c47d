// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/tensor/dtype.hpp>

namespace hocket {

/// How elements of several ranks become one.
/// Integers wrap. `premultiplied_sum` multiplies each rank's elements by a factor of that rank
/// before they are added (`reduce_by` carries it). `average` is the sum divided by the number of
/// ranks. `min` and `max` are NaN where any element is. f16 and bf16 accumulate in f32 and are
/// rounded once.
enum class reduction : std::uint8_t {
  sum,
  product,
  min,
  max,
  average,
  bit_and,
  bit_or,
  bit_xor,
  premultiplied_sum,
};

/// How many reductions there are; they are numbered from 0.
inline constexpr int reduction_count = 9;

/// As messages spell it: "sum".
[[nodiscard]] char const* name_of(reduction r) noexcept;

/// Whether the reduction has a meaning for elements of the dtype:
///
///             | sum, product | min, max | average, premultiplied_sum | bit_and, bit_or | bit_xor
/// ------------|--------------|----------|----------------------------|-----------------|--------
/// bool        |              | yes      |                            | yes             |
/// integers    | yes          | yes      |                            | yes             | yes
/// f16 to f64  | yes          | yes      | yes                        |                 |
/// complex     | yes          |          | yes                        |                 |
/// f8          |              |          |                            |                 |
[[nodiscard]] bool is_reducible(dtype type, reduction how) noexcept;

/// A reduction, and this rank's factor where it takes one: what a call is given.
class reduce_by {
 public:
  /// Without a factor.
  constexpr reduce_by(reduction how) noexcept : how_(how) {}  // NOLINT: a reduction says enough
  /// This rank's elements count `factor` times; used by a premultiplied sum only.
  constexpr reduce_by(reduction how, double factor) noexcept : how_(how), factor_(factor) {}

  /// Which reduction.
  [[nodiscard]] constexpr reduction how() const noexcept { return how_; }
  /// Of this rank's elements; 1 unless one was given.
  [[nodiscard]] constexpr double factor() const noexcept { return factor_; }

 private:
  reduction how_;
  double factor_ = 1;
};

/// The sum of all ranks' elements, this rank's times `factor`; the ranks' factors may differ. The
/// product is made in the type that sums are accumulated in: f32 for f16 and bf16, else the
/// element's own, to which the factor is rounded.
[[nodiscard]] constexpr reduce_by premultiplied_sum(double factor) noexcept {
  return {reduction::premultiplied_sum, factor};
}

}  // namespace hocket
