// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/tensor.hpp>

namespace hocket::test {

/// What a stage makes of its input: tells which stages were there, and in which order.
inline tensor stage_step(tensor const& x, int stage) {
  auto y = tensor::empty(x.dtype(), x.shape());
  auto const* from = x.const_data<std::int64_t>();
  auto* to = y.data<std::int64_t>();
  for (std::int64_t i = 0; i < x.numel(); ++i) to[i] = (3 * from[i] + stage) % 1'000'000'007;
  return y;
}

inline tensor all_stages(tensor x, int stages) {
  for (int s = 0; s < stages; ++s) x = stage_step(x, s);
  return x;
}

}  // namespace hocket::test
