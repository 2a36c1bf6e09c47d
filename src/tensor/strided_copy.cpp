// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace hocket::detail {
namespace {

struct dimension {
  std::int64_t extent;
  std::int64_t dst;  // strides in bytes
  std::int64_t src;
};

// The shape of a copy: outermost dimension first, the destination's order.
struct loop_nest {
  std::array<dimension, shape::ndim_max> dims{};
  std::size_t size = 0;
  std::size_t run = 0;  // bytes that lie together on both sides

  dimension& inner() noexcept { return dims[size - 1]; }
};

// The order of a copy is free: walking the destination in memory order and joining dimensions that
// follow each other on both sides leaves few, long runs.
loop_nest plan_loops(shape const& extents, std::size_t element_bytes,
                     std::int64_t const* dst_strides, std::int64_t const* src_strides) noexcept {
  auto const bytes = static_cast<std::int64_t>(element_bytes);
  loop_nest nest;
  nest.run = element_bytes;
  for (std::size_t i = 0; i < extents.size(); ++i)
    if (extents[i] != 1)
      nest.dims[nest.size++] = {extents[i], dst_strides[i] * bytes, src_strides[i] * bytes};
  auto const begin = nest.dims.begin();
  auto const end = begin + static_cast<std::ptrdiff_t>(nest.size);
  std::sort(begin, end, [](dimension const& a, dimension const& b) {
    return a.dst != b.dst ? a.dst > b.dst : a.src > b.src;
  });

  std::size_t joined = 0;
  for (std::size_t i = 0; i < nest.size; ++i) {
    auto const& next = nest.dims[i];
    if (joined > 0) {
      auto& last = nest.dims[joined - 1];
      if (last.dst == next.dst * next.extent && last.src == next.src * next.extent) {
        last = {last.extent * next.extent, next.dst, next.src};
        continue;
      }
    }
    nest.dims[joined++] = next;
  }
  nest.size = joined;
  if (nest.size > 0 && nest.inner().dst == bytes && nest.inner().src == bytes) {
    nest.run *= static_cast<std::size_t>(nest.inner().extent);
    --nest.size;
  }
  return nest;
}

// `Run` bytes at a time, known to the compiler; 0 means run_bytes.
template <std::size_t Run>
void copy_row(dimension const& d, std::byte* dst, std::byte const* src,
              std::size_t run_bytes) noexcept {
  for (std::int64_t i = 0; i < d.extent; ++i, dst += d.dst, src += d.src)
    std::memcpy(dst, src, Run == 0 ? run_bytes : Run);
}

// Where the source's memory order is another one than the destination's, square tiles keep the
// cache lines of both sides in use until they are done.
template <std::size_t Run>
void copy_plane(dimension const& a, dimension const& b, std::byte* dst, std::byte const* src,
                std::size_t run_bytes) noexcept {
  constexpr std::int64_t tile = 32;
  for (std::int64_t i = 0; i < a.extent; i += tile)
    for (std::int64_t j = 0; j < b.extent; j += tile) {
      auto const i_end = std::min(i + tile, a.extent);
      dimension const row{std::min(tile, b.extent - j), b.dst, b.src};
      for (auto k = i; k < i_end; ++k)
        copy_row<Run>(row, dst + k * a.dst + j * b.dst, src + k * a.src + j * b.src, run_bytes);
    }
}

template <std::size_t Run>
void run_loops(loop_nest& nest, std::byte* dst, std::byte const* src) noexcept {
  // The second loop of a plane is the one that walks the source most closely.
  auto const outer_end = nest.size - 1;
  std::size_t closest = outer_end;
  for (std::size_t i = 0; i < outer_end; ++i)
    if (nest.dims[i].src < nest.dims[closest].src) closest = i;
  bool const plane = closest != outer_end;
  if (plane) std::rotate(&nest.dims[closest], &nest.dims[closest] + 1, &nest.dims[outer_end]);
  auto const loops = plane ? nest.size - 2 : nest.size - 1;

  std::array<std::int64_t, shape::ndim_max> at{};
  for (;;) {
    if (plane)
      copy_plane<Run>(nest.dims[nest.size - 2], nest.inner(), dst, src, nest.run);
    else
      copy_row<Run>(nest.inner(), dst, src, nest.run);
    auto i = loops;
    for (; i > 0; --i) {
      auto const& d = nest.dims[i - 1];
      dst += d.dst;
      src += d.src;
      if (++at[i - 1] < d.extent) break;
      dst -= d.dst * d.extent;
      src -= d.src * d.extent;
      at[i - 1] = 0;
    }
    if (i == 0) return;
  }
}

}  // namespace

void strided_copy(shape const& extents, std::size_t element_bytes, std::byte* dst,
                  std::int64_t const* dst_strides, std::byte const* src,
                  std::int64_t const* src_strides) noexcept {
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return;
  auto nest = plan_loops(extents, element_bytes, dst_strides, src_strides);
  if (nest.size == 0) {
    std::memcpy(dst, src, nest.run);
    return;
  }
  switch (nest.run) {
    case 1:
      return run_loops<1>(nest, dst, src);
    case 2:
      return run_loops<2>(nest, dst, src);
    case 4:
      return run_loops<4>(nest, dst, src);
    case 8:
      return run_loops<8>(nest, dst, src);
    case 16:
      return run_loops<16>(nest, dst, src);
    case 32:
      return run_loops<32>(nest, dst, src);
    case 64:
      return run_loops<64>(nest, dst, src);
    default:
      return run_loops<0>(nest, dst, src);
  }
}

}  // namespace hocket::detail
