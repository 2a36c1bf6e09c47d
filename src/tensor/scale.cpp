// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "scale.hpp"

#include <complex>
#include <hocket/detail/assert.hpp>
#include <hocket/tensor/half.hpp>
#include <type_traits>

#include "dispatch.hpp"

namespace hocket::detail {
namespace {

template <class T>
void scale(T& x, double factor) {
  if constexpr (std::is_floating_point_v<T>) {
    x *= static_cast<T>(factor);
  } else if constexpr (std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>) {
    x = static_cast<T>(static_cast<float>(x) * static_cast<float>(factor));
  } else if constexpr (std::is_same_v<T, std::complex<float>> ||
                       std::is_same_v<T, std::complex<double>>) {
    x *= static_cast<typename T::value_type>(factor);
  } else {
    HOCKET_ASSERT(false);
  }
}

}  // namespace

tensor scaled(tensor const& t, double factor) {
  tensor result = t.clone();
  with_element_type(t.dtype(), [&]<class T>() {
    auto* const x = reinterpret_cast<T*>(result.bytes());
    for (std::int64_t i = 0; i < result.numel(); ++i) scale(x[i], factor);
  });
  return result;
}

}  // namespace hocket::detail
