// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "reduce.hpp"

#include <algorithm>
#include <array>
#include <complex>
#include <concepts>
#include <cstring>
#include <hocket/detail/assert.hpp>
#include <hocket/tensor/half.hpp>
#include <type_traits>

#include "tensor/dispatch.hpp"

namespace hocket {

char const* name_of(reduction r) noexcept {
  switch (r) {
    case reduction::sum:
      return "sum";
    case reduction::product:
      return "product";
    case reduction::min:
      return "min";
    case reduction::max:
      return "max";
    case reduction::average:
      return "average";
    case reduction::bit_and:
      return "bit_and";
    case reduction::bit_or:
      return "bit_or";
    case reduction::bit_xor:
      return "bit_xor";
    case reduction::premultiplied_sum:
      return "premultiplied_sum";
  }
  return "unknown";
}

namespace algorithm {
namespace {

template <class T>
inline constexpr bool is_half = std::is_same_v<T, float16> || std::is_same_v<T, bfloat16>;
template <class T>
inline constexpr bool is_f8 = std::is_same_v<T, float8_e4m3> || std::is_same_v<T, float8_e5m2>;
template <class T>
inline constexpr bool is_complex =
    std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>;
template <class T>
inline constexpr bool is_integer = std::is_integral_v<T> && !std::is_same_v<T, bool>;
template <class T>
inline constexpr bool is_real = std::is_floating_point_v<T> || is_half<T>;

template <class T>
constexpr bool has(reduction how) noexcept {
  switch (how) {
    case reduction::sum:
    case reduction::product:
      return is_integer<T> || is_real<T> || is_complex<T>;
    case reduction::min:
    case reduction::max:
      return std::is_integral_v<T> || is_real<T>;
    case reduction::average:
    case reduction::premultiplied_sum:
      return is_real<T> || is_complex<T>;
    case reduction::bit_and:
    case reduction::bit_or:
      return std::is_integral_v<T>;
    case reduction::bit_xor:
      return is_integer<T>;
  }
  return false;
}

// What elements are accumulated in: wrapping integers, at least f32, bool as its byte.
template <class T>
constexpr auto accumulator() noexcept {
  if constexpr (is_half<T>) {
    return float{};
  } else if constexpr (std::is_same_v<T, bool>) {
    return std::uint8_t{};
  } else {
    return T{};
  }
}

template <reduction How, class A>
constexpr A combined(A a, A x) noexcept {
  if constexpr (How == reduction::sum || How == reduction::average ||
                How == reduction::premultiplied_sum) {
    if constexpr (std::is_integral_v<A>) {
      using word = std::common_type_t<std::make_unsigned_t<A>, unsigned>;
      return static_cast<A>(static_cast<word>(a) + static_cast<word>(x));
    } else {
      return a + x;
    }
  } else if constexpr (How == reduction::product) {
    if constexpr (std::is_integral_v<A>) {
      using word = std::common_type_t<std::make_unsigned_t<A>, unsigned>;
      return static_cast<A>(static_cast<word>(a) * static_cast<word>(x));
    } else if constexpr (is_complex<A>) {  // without the search for infinities of operator*
      return A(a.real() * x.real() - a.imag() * x.imag(),
               a.real() * x.imag() + a.imag() * x.real());
    } else {
      return a * x;
    }
  } else if constexpr (How == reduction::min) {
    return x < a || x != x ? x : a;
  } else if constexpr (How == reduction::max) {
    return a < x || x != x ? x : a;
  } else if constexpr (How == reduction::bit_and) {
    return static_cast<A>(a & x);
  } else if constexpr (How == reduction::bit_or) {
    return static_cast<A>(a | x);
  } else {
    return static_cast<A>(a ^ x);
  }
}

// The element as its rank gives it.
template <reduction How, class A>
constexpr A given(A x, double factor) noexcept {
  if constexpr (How == reduction::premultiplied_sum && is_complex<A>) {
    return x * static_cast<typename A::value_type>(factor);
  } else if constexpr (How == reduction::premultiplied_sum) {
    return x * static_cast<A>(factor);
  } else {
    return x;
  }
}

// As many elements as stay in the first-level cache together with one input's.
constexpr std::int64_t block_max = 1024;

template <class T, reduction How>
void run(std::span<std::byte const* const> inputs, std::span<std::byte* const> outputs,
         std::int64_t count, std::span<double const> factors) {
  using A = decltype(accumulator<T>());
  using E = std::conditional_t<std::is_same_v<T, bool>, std::uint8_t, T>;
  std::array<A, block_max> sums;
  std::array<E, block_max> results;
  for (std::int64_t start = 0; start < count; start += block_max) {
    auto const n = static_cast<std::size_t>(std::min(block_max, count - start));
    auto const at = [start](auto* base) { return base + start * std::int64_t{sizeof(T)}; };
    for (std::size_t r = 0; r < inputs.size(); ++r) {
      auto const* const x = reinterpret_cast<E const*>(at(inputs[r]));
      double const factor = How == reduction::premultiplied_sum ? factors[r] : 1;
      if (r == 0) {
        for (std::size_t i = 0; i < n; ++i) sums[i] = given<How>(static_cast<A>(x[i]), factor);
      } else {
        for (std::size_t i = 0; i < n; ++i)
          sums[i] = combined<How>(sums[i], given<How>(static_cast<A>(x[i]), factor));
      }
    }
    if constexpr (How == reduction::average) {
      auto const ranks = static_cast<float>(inputs.size());  // exact: far fewer than 2^24
      for (std::size_t i = 0; i < n; ++i) sums[i] /= ranks;
    }
    for (std::size_t i = 0; i < n; ++i) results[i] = static_cast<E>(sums[i]);
    for (auto* const output : outputs) std::memcpy(at(output), results.data(), n * sizeof(T));
  }
}

template <class T, reduction How>
void run_if_any(std::span<std::byte const* const> inputs, std::span<std::byte* const> outputs,
                std::int64_t count, std::span<double const> factors) {
  if constexpr (has<T>(How)) run<T, How>(inputs, outputs, count, factors);
}

}  // namespace

void reduce(reduction how, dtype type, std::span<std::byte const* const> inputs,
            std::span<std::byte* const> outputs, std::int64_t count,
            std::span<double const> factors) {
  HOCKET_ASSERT(is_reducible(type, how));
  HOCKET_ASSERT(factors.size() == (how == reduction::premultiplied_sum ? inputs.size() : 0));
  detail::with_element_type(type, [&]<class T>() {
    switch (how) {
      case reduction::sum:
        return run_if_any<T, reduction::sum>(inputs, outputs, count, factors);
      case reduction::product:
        return run_if_any<T, reduction::product>(inputs, outputs, count, factors);
      case reduction::min:
        return run_if_any<T, reduction::min>(inputs, outputs, count, factors);
      case reduction::max:
        return run_if_any<T, reduction::max>(inputs, outputs, count, factors);
      case reduction::average:
        return run_if_any<T, reduction::average>(inputs, outputs, count, factors);
      case reduction::bit_and:
        return run_if_any<T, reduction::bit_and>(inputs, outputs, count, factors);
      case reduction::bit_or:
        return run_if_any<T, reduction::bit_or>(inputs, outputs, count, factors);
      case reduction::bit_xor:
        return run_if_any<T, reduction::bit_xor>(inputs, outputs, count, factors);
      case reduction::premultiplied_sum:
        return run_if_any<T, reduction::premultiplied_sum>(inputs, outputs, count, factors);
    }
  });
}

}  // namespace algorithm

bool is_reducible(dtype type, reduction how) noexcept {
  return detail::with_element_type(type, [how]<class T>() { return algorithm::has<T>(how); });
}

}  // namespace hocket
