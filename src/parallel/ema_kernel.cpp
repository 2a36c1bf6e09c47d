// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "ema_kernel.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Compiled without contraction: a fused multiply-add rounds once where the others round twice.
namespace hocket::detail {
namespace {

template <class Source>
void scalar(float* target, Source const* source, std::int64_t n, float rest) {
  for (std::int64_t i = 0; i < n; ++i)
    target[i] += rest * (static_cast<float>(source[i]) - target[i]);
}

#if defined(__x86_64__)

#define HOCKET_AVX2 __attribute__((target("avx2,f16c")))
#define HOCKET_AVX512 __attribute__((target("avx512f")))

HOCKET_AVX2 inline __m256 load8(float const* p) { return _mm256_loadu_ps(p); }
HOCKET_AVX2 inline __m256 load8(float16 const* p) {
  return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<__m128i const*>(p)));
}
HOCKET_AVX2 inline __m256 load8(bfloat16 const* p) {
  auto const bits = _mm_loadu_si128(reinterpret_cast<__m128i const*>(p));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
}

HOCKET_AVX512 inline __m512 load16(float const* p) { return _mm512_loadu_ps(p); }
HOCKET_AVX512 inline __m512 load16(float16 const* p) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<__m256i const*>(p)));
}
HOCKET_AVX512 inline __m512 load16(bfloat16 const* p) {
  auto const bits = _mm256_loadu_si256(reinterpret_cast<__m256i const*>(p));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

template <class Source>
HOCKET_AVX2 void avx2(float* target, Source const* source, std::int64_t n, float rest) {
  auto const r = _mm256_set1_ps(rest);
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    auto const t = _mm256_loadu_ps(target + i);
    auto const step = _mm256_mul_ps(r, _mm256_sub_ps(load8(source + i), t));
    _mm256_storeu_ps(target + i, _mm256_add_ps(t, step));
  }
  scalar(target + i, source + i, n - i, rest);
}

template <class Source>
HOCKET_AVX512 void avx512(float* target, Source const* source, std::int64_t n, float rest) {
  auto const r = _mm512_set1_ps(rest);
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) {
    auto const t = _mm512_loadu_ps(target + i);
    auto const step = _mm512_mul_ps(r, _mm512_sub_ps(load16(source + i), t));
    _mm512_storeu_ps(target + i, _mm512_add_ps(t, step));
  }
  scalar(target + i, source + i, n - i, rest);
}

#undef HOCKET_AVX2
#undef HOCKET_AVX512

#endif

std::vector<ema_kernel> choose() {
  std::vector<ema_kernel> all;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512f"))
    all.push_back({"avx512", avx512<float>, avx512<float16>, avx512<bfloat16>});
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c"))
    all.push_back({"avx2", avx2<float>, avx2<float16>, avx2<bfloat16>});
#endif
  all.push_back({"scalar", scalar<float>, scalar<float16>, scalar<bfloat16>});
  return all;
}

}  // namespace

std::vector<ema_kernel> const& ema_kernels() {
  static auto const all = choose();
  return all;
}

}  // namespace hocket::detail
