// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/tensor/half.hpp>
#include <string_view>
#include <vector>

namespace hocket::detail {

/// target += rest * (source - target) for contiguous elements that do not overlap.
class ema_kernel {
 public:
  std::string_view name;  ///< "avx512", "avx2", "scalar"
  void (*from_f32)(float* target, float const* source, std::int64_t n, float rest);
  void (*from_f16)(float* target, float16 const* source, std::int64_t n, float rest);
  void (*from_bf16)(float* target, bfloat16 const* source, std::int64_t n, float rest);
};

/// What this processor runs, the fastest first; the last one runs everywhere. All give equal bits.
[[nodiscard]] std::vector<ema_kernel> const& ema_kernels();

}  // namespace hocket::detail
