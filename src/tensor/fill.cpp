// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <hocket/error.hpp>
#include <hocket/tensor/tensor.hpp>
#include <limits>
#include <type_traits>

#include "dispatch.hpp"

namespace hocket {
namespace {

// long double holds every 64-bit integer exactly on the machines this library runs on.
static_assert(std::numeric_limits<long double>::digits >= 64);

template <class T>
T converted(long double value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value != 0;
  } else if constexpr (std::is_integral_v<T>) {
    using limits = std::numeric_limits<T>;
    if (!(value >= static_cast<long double>(limits::min()) &&
          value <= static_cast<long double>(limits::max())) ||
        std::trunc(value) != value)
      throw error(errc::invalid_argument,
                  fmt::format("{} does not fit {}", value, name_of(dtype_of<T>)));
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>) {
    return T(static_cast<double>(value));
  } else {
    return T(static_cast<float>(value));
  }
}

template <class T>
T counted(std::int64_t value) noexcept {
  if constexpr (std::is_same_v<T, bool>) {
    return (value & 1) != 0;
  } else if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(value);
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, std::complex<double>>) {
    return T(static_cast<double>(value));
  } else {
    return T(static_cast<float>(value));
  }
}

}  // namespace

tensor tensor::zeros(hocket::dtype type, hocket::shape const& extents) {
  auto made = empty(type, extents);
  std::memset(made.bytes(), 0, made.nbytes());
  return made;
}

tensor tensor::full(hocket::dtype type, hocket::shape const& extents, long double value) {
  auto made = empty(type, extents);
  detail::with_element_type(
      type, [&]<class T>() { std::fill_n(made.data<T>(), made.numel(), converted<T>(value)); });
  return made;
}

tensor tensor::arange(hocket::dtype type, hocket::shape const& extents, std::int64_t start) {
  auto made = empty(type, extents);
  detail::with_element_type(type, [&]<class T>() {
    T* const values = made.data<T>();
    for (std::int64_t i = 0; i < made.numel(); ++i) values[i] = counted<T>(start + i);
  });
  return made;
}

}  // namespace hocket
