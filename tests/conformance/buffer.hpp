// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/tensor/tensor.hpp>
#include <string>

#include "reference.hpp"

namespace hocket::conformance {

/// How the elements of a tensor lie in memory.
enum class form {
  contiguous,
  transposed,  ///< the first dimension is the innermost one
  strided,     ///< every second element of its storage, from the second on
};
inline constexpr int form_count = 3;
[[nodiscard]] char const* name_of(form f);

/// A tensor for an operation, and the memory around its elements.
class buffer {
 public:
  /// Nothing.
  buffer() = default;
  /// Filled with the byte `untouched`, as is the memory between the elements.
  buffer(form f, dtype t, extents const& e);
  /// Holds the array.
  buffer(form f, array const& a);

  [[nodiscard]] tensor const& view() const noexcept { return view_; }
  [[nodiscard]] array content() const { return read(view_); }
  /// Whether the memory between the elements is as it was made. Clears the elements.
  [[nodiscard]] bool is_clean_around();

  /// The elements of any tensor, one by one.
  [[nodiscard]] static array read(tensor const& t);
  static void write(tensor const& t, array const& a);

 private:
  tensor whole_;
  tensor view_;
};

/// A contiguous tensor of the array.
[[nodiscard]] inline tensor tensor_of(array const& a) { return buffer(form::contiguous, a).view(); }
[[nodiscard]] inline shape shape_of(extents const& e) {
  return shape(std::span<std::int64_t const>(e));
}

}  // namespace hocket::conformance
