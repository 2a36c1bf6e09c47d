// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <array>
#include <group/crc32c.hpp>
#include <hocket/group/detail/object_wire.hpp>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace hocket::detail {
namespace {

constexpr std::uint32_t polynomial = 0x82f63b78;  // 0x1edc6f41, bits in reverse order

// tables[k][b]: the state after byte b and k zero bytes.
constexpr auto tables = [] {
  std::array<std::array<std::uint32_t, 256>, 8> t{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t state = b;
    for (int bit = 0; bit < 8; ++bit) state = (state >> 1) ^ ((state & 1) != 0 ? polynomial : 0);
    t[0][b] = state;
  }
  for (std::size_t k = 1; k < 8; ++k)
    for (std::size_t b = 0; b < 256; ++b) t[k][b] = (t[k - 1][b] >> 8) ^ t[0][t[k - 1][b] & 0xff];
  return t;
}();

std::uint32_t run_portable(std::uint32_t state, std::byte const* p, std::size_t n) noexcept {
  for (; n >= 8; n -= 8, p += 8) {
    std::uint64_t const word = load<std::uint64_t>(p) ^ state;
    state = 0;
    for (std::size_t i = 0; i < 8; ++i) state ^= tables[7 - i][(word >> (8 * i)) & 0xff];
  }
  for (; n != 0; --n, ++p)
    state = (state >> 8) ^ tables[0][(state ^ static_cast<std::uint32_t>(*p)) & 0xff];
  return state;
}

#if defined(__x86_64__)

// The instruction has a latency of three cycles and starts one a cycle, so three lanes run side by
// side and are joined: the state is linear, state(A B) = zeros(state(A), |B|) ^ state(B).
constexpr std::size_t lane_bytes = 4096;

/// What a state becomes after `lane_bytes` zero bytes, a table for each of its four bytes.
class zero_lane {
 public:
  zero_lane() noexcept {
    std::array<std::uint32_t, 32> images{};  // of each single bit
    std::array<std::byte, lane_bytes> const zeros{};
    for (std::size_t bit = 0; bit < 32; ++bit)
      images[bit] = run_portable(std::uint32_t{1} << bit, zeros.data(), zeros.size());
    for (std::size_t byte = 0; byte < 4; ++byte)
      for (std::size_t value = 0; value < 256; ++value)
        for (std::size_t bit = 0; bit < 8; ++bit)
          if ((value >> bit & 1) != 0) table_[byte][value] ^= images[8 * byte + bit];
  }
  std::uint32_t operator()(std::uint32_t state) const noexcept {
    return table_[0][state & 0xff] ^ table_[1][state >> 8 & 0xff] ^ table_[2][state >> 16 & 0xff] ^
           table_[3][state >> 24];
  }

 private:
  std::array<std::array<std::uint32_t, 256>, 4> table_{};
};

__attribute__((target("sse4.2"))) std::uint32_t run_sse42(std::uint32_t state, std::byte const* p,
                                                          std::size_t n) noexcept {
  static zero_lane const zeros;
  for (; n >= 3 * lane_bytes; n -= 3 * lane_bytes, p += 3 * lane_bytes) {
    std::uint64_t a = state;
    std::uint64_t b = 0;
    std::uint64_t c = 0;
    for (std::size_t i = 0; i < lane_bytes; i += 8) {
      a = _mm_crc32_u64(a, load<std::uint64_t>(p + i));
      b = _mm_crc32_u64(b, load<std::uint64_t>(p + lane_bytes + i));
      c = _mm_crc32_u64(c, load<std::uint64_t>(p + 2 * lane_bytes + i));
    }
    auto const ab = zeros(static_cast<std::uint32_t>(a)) ^ static_cast<std::uint32_t>(b);
    state = zeros(ab) ^ static_cast<std::uint32_t>(c);
  }
  std::uint64_t wide = state;
  for (; n >= 8; n -= 8, p += 8) wide = _mm_crc32_u64(wide, load<std::uint64_t>(p));
  state = static_cast<std::uint32_t>(wide);
  for (; n != 0; --n, ++p) state = _mm_crc32_u8(state, static_cast<std::uint8_t>(*p));
  return state;
}

#endif

}  // namespace

std::uint32_t crc32c_portable(std::span<std::byte const> bytes) noexcept {
  return ~run_portable(~std::uint32_t{0}, bytes.data(), bytes.size());
}

std::uint32_t crc32c(std::span<std::byte const> bytes) noexcept {
#if defined(__x86_64__)
  static bool const has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return ~run_sse42(~std::uint32_t{0}, bytes.data(), bytes.size());
#endif
  return crc32c_portable(bytes);
}

}  // namespace hocket::detail
