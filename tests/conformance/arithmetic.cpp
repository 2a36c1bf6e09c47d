// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What elements mean, and what their reductions are: integers modulo a power of two, all else in
// double, rounded once.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <sstream>

#include "reference.hpp"

namespace hocket::conformance {
namespace {

enum class family { boolean, natural, integer, real, complex, opaque };

family family_of(dtype t) {
  switch (t) {
    case dtype::boolean:
      return family::boolean;
    case dtype::u8:
    case dtype::u16:
    case dtype::u32:
    case dtype::u64:
      return family::natural;
    case dtype::i8:
    case dtype::i16:
    case dtype::i32:
    case dtype::i64:
      return family::integer;
    case dtype::f16:
    case dtype::bf16:
    case dtype::f32:
    case dtype::f64:
      return family::real;
    case dtype::c64:
    case dtype::c128:
      return family::complex;
    case dtype::f8e4m3:
    case dtype::f8e5m2:
      return family::opaque;
  }
  return family::opaque;
}

bool is_whole(family f) {
  return f == family::boolean || f == family::natural || f == family::integer;
}

// An IEEE number of `exponent` and `mantissa` bits, the leading one not counted.
struct binary {
  int exponent, mantissa;
  [[nodiscard]] int lowest() const { return 2 - (1 << (exponent - 1)); }  // of a normal number

  [[nodiscard]] double decode(std::uint64_t bits) const {
    auto const fraction = static_cast<double>(bits & ((1u << mantissa) - 1)) / (1 << mantissa);
    int const e = static_cast<int>(bits >> mantissa) & ((1 << exponent) - 1);
    double const sign = (bits >> (exponent + mantissa)) != 0 ? -1 : 1;
    if (e == (1 << exponent) - 1)
      return fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                           : sign * std::numeric_limits<double>::infinity();
    if (e == 0) return sign * std::ldexp(fraction, lowest());
    return sign * std::ldexp(1 + fraction, lowest() + e - 1);
  }
  // To nearest, ties to even.
  [[nodiscard]] std::uint64_t encode(double x) const {
    std::uint64_t const sign = std::signbit(x) ? std::uint64_t{1} << (exponent + mantissa) : 0;
    std::uint64_t const top = ((std::uint64_t{1} << exponent) - 1) << mantissa;
    if (std::isnan(x)) return sign | top | (std::uint64_t{1} << (mantissa - 1));
    if (std::isinf(x)) return sign | top;
    double const size = std::fabs(x);
    int const e = size == 0 ? lowest() : std::max(std::ilogb(size), lowest());
    auto const steps = static_cast<std::uint64_t>(std::nearbyint(std::ldexp(size, mantissa - e)));
    // A number is its count of steps, each exponent above the lowest has 2^mantissa of them.
    auto const bits = steps + (static_cast<std::uint64_t>(e - lowest()) << mantissa);
    return sign | std::min(bits, top);
  }
};

constexpr binary half{5, 10};
constexpr binary brain{8, 7};

double real_at(dtype t, std::byte const* p) {
  switch (t) {
    case dtype::f16:
    case dtype::bf16: {
      std::uint16_t bits = 0;
      std::memcpy(&bits, p, 2);
      return (t == dtype::f16 ? half : brain).decode(bits);
    }
    case dtype::f32:
    case dtype::c64: {
      float x = 0;
      std::memcpy(&x, p, 4);
      return static_cast<double>(x);
    }
    default: {
      double x = 0;
      std::memcpy(&x, p, 8);
      return x;
    }
  }
}

void put_real(dtype t, double x, std::byte* p) {
  switch (t) {
    case dtype::f16:
    case dtype::bf16: {
      auto const bits = static_cast<std::uint16_t>((t == dtype::f16 ? half : brain).encode(x));
      std::memcpy(p, &bits, 2);
      break;
    }
    case dtype::f32:
    case dtype::c64: {
      auto const narrow = static_cast<float>(x);
      std::memcpy(p, &narrow, 4);
      break;
    }
    default:
      std::memcpy(p, &x, 8);
  }
}

std::uint64_t whole_at(dtype t, std::byte const* p) {
  std::uint64_t bits = 0;  // little-endian, as every machine this is built for
  std::memcpy(&bits, p, size_of(t));
  int const spare = 64 - 8 * static_cast<int>(size_of(t));
  if (family_of(t) == family::integer)
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << spare) >> spare);
  return bits;
}

bool is_less(dtype t, std::uint64_t a, std::uint64_t b) {
  if (family_of(t) == family::integer)
    return static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b);
  return a < b;
}

std::uint64_t combined(dtype t, reduction how, std::uint64_t a, std::uint64_t x) {
  switch (how) {
    case reduction::product:
      return a * x;
    case reduction::min:
      return is_less(t, x, a) ? x : a;
    case reduction::max:
      return is_less(t, a, x) ? x : a;
    case reduction::bit_and:
      return a & x;
    case reduction::bit_or:
      return a | x;
    case reduction::bit_xor:
      return a ^ x;
    default:
      return a + x;
  }
}

double combined(reduction how, double a, double x) {
  if (how == reduction::product) return a * x;
  if (how != reduction::min && how != reduction::max) return a + x;
  if (std::isnan(a) || std::isnan(x)) return std::numeric_limits<double>::quiet_NaN();
  return how == reduction::min ? std::min(a, x) : std::max(a, x);
}

// In f32 where the elements are at most that wide: divided there, then rounded again.
double averaged(dtype t, double sum, int ranks) {
  if (t == dtype::f64 || t == dtype::c128) return sum / ranks;
  return static_cast<double>(static_cast<float>(sum) / static_cast<float>(ranks));
}

double real_number(family f, reduction how, std::uint64_t x) {
  static constexpr double factors[] = {1, -1, 2, -2, 0.5, 3, -0.25, 1};
  if (how == reduction::product) return factors[x % (f == family::complex ? 4 : 8)];
  if (how == reduction::min || how == reduction::max) {
    if (x % 97 == 0) return std::numeric_limits<double>::quiet_NaN();
    if (x % 89 == 0) return -std::numeric_limits<double>::infinity();
    if (x % 83 == 0) return std::numeric_limits<double>::infinity();
  }
  // Not zero, whose sign a minimum would have to choose; some so large that a narrow sum rounds.
  auto const n = static_cast<double>(x % 61) + 1;
  auto const scaled = x % 7 == 0 ? 64 * n : n / 4;
  return (x >> 20) % 2 == 0 ? scaled : -scaled;
}

}  // namespace

double factor_of(int rank) {
  static constexpr double factors[] = {0.5, -1, 2, 0.25, 3, 1, -2, 0};
  return factors[rank % 8];
}

array numbers(dtype t, reduction how, extents const& e, std::uint64_t seed, int rank) {
  auto a = patterned(t, e, seed, rank);
  auto const f = family_of(t);
  if (is_whole(f) || f == family::opaque) return a;
  for (std::int64_t i = 0; i < a.count(); ++i) {
    auto const x = mixed(seed, static_cast<std::uint64_t>(rank), static_cast<std::uint64_t>(i));
    put_real(t, real_number(f, how, x), a.at(i));
    if (f == family::complex) put_real(t, real_number(f, how, x >> 7), a.at(i) + size_of(t) / 2);
  }
  return a;
}

bool has_meaning(dtype t, reduction how) {
  auto const f = family_of(t);
  switch (how) {
    case reduction::sum:
    case reduction::product:
      return f == family::natural || f == family::integer || f == family::real ||
             f == family::complex;
    case reduction::min:
    case reduction::max:
      return is_whole(f) || f == family::real;
    case reduction::average:
    case reduction::premultiplied_sum:
      return f == family::real || f == family::complex;
    case reduction::bit_and:
    case reduction::bit_or:
      return is_whole(f);
    case reduction::bit_xor:
      return f == family::natural || f == family::integer;
  }
  return false;
}

namespace {

void reduce_whole(array& out, std::vector<array> const& of, reduction how, std::int64_t i) {
  auto const t = out.dtype;
  auto sum = whole_at(t, of[0].at(i));
  for (std::size_t r = 1; r < of.size(); ++r) sum = combined(t, how, sum, whole_at(t, of[r].at(i)));
  std::memcpy(out.at(i), &sum, size_of(t));
}

void reduce_real(array& out, std::vector<array> const& of, reduction how, std::int64_t i,
                 std::size_t skipped) {
  auto const t = out.dtype;
  double sum = 0;
  for (std::size_t r = 0; r < of.size(); ++r) {
    double x = real_at(t, of[r].at(i) + skipped);
    if (how == reduction::premultiplied_sum) x *= factor_of(static_cast<int>(r));
    sum = r == 0 ? x : combined(how, sum, x);
  }
  if (how == reduction::average) sum = averaged(t, sum, static_cast<int>(of.size()));
  put_real(t, sum, out.at(i) + skipped);
}

void multiply_complex(array& out, std::vector<array> const& of, std::int64_t i) {
  auto const t = out.dtype;
  auto const second = size_of(t) / 2;
  double re = 1;
  double im = 0;
  for (auto const& a : of) {
    double const x = real_at(t, a.at(i));
    double const y = real_at(t, a.at(i) + second);
    double const next = re * x - im * y;
    im = re * y + im * x;
    re = next;
  }
  put_real(t, re, out.at(i));
  put_real(t, im, out.at(i) + second);
}

}  // namespace

array reduced(std::vector<array> const& of, reduction how) {
  array out(of.front().dtype, of.front().extents);
  auto const f = family_of(out.dtype);
  for (std::int64_t i = 0; i < out.count(); ++i) {
    if (is_whole(f)) {
      reduce_whole(out, of, how, i);
    } else if (f == family::real) {
      reduce_real(out, of, how, i, 0);
    } else if (how == reduction::product) {
      multiply_complex(out, of, i);
    } else {
      reduce_real(out, of, how, i, 0);
      reduce_real(out, of, how, i, size_of(out.dtype) / 2);
    }
  }
  return out;
}

bool same_element(dtype t, std::byte const* a, std::byte const* b) {
  if (std::memcmp(a, b, size_of(t)) == 0) return true;
  return family_of(t) == family::real && std::isnan(real_at(t, a)) && std::isnan(real_at(t, b));
}

std::string spelled(dtype t, std::byte const* element) {
  std::ostringstream s;
  s.precision(17);
  auto const f = family_of(t);
  if (f == family::integer) {
    s << static_cast<std::int64_t>(whole_at(t, element));
  } else if (is_whole(f)) {
    s << whole_at(t, element);
  } else if (f == family::real) {
    s << real_at(t, element);
  } else if (f == family::complex) {
    s << real_at(t, element) << "+" << real_at(t, element + size_of(t) / 2) << "i";
  }
  s << (f == family::opaque ? "0x" : " (0x") << std::hex;
  for (std::size_t i = size_of(t); i-- > 0;) {
    auto const digits = std::to_integer<int>(element[i]);
    s << (digits < 16 ? "0" : "") << digits;
  }
  s << (f == family::opaque ? "" : ")");
  return s.str();
}

}  // namespace hocket::conformance
