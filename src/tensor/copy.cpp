// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/error.hpp>
#include <hocket/tensor/copy.hpp>

#include "host_only.hpp"
#include "strided_copy.hpp"

namespace hocket {
namespace detail {

void expect_host(tensor const& t, char const* function) {
  if (!t.device().is_host())
    throw error(errc::unsupported, fmt::format("{} of {} on {}: it reads host memory only",
                                               function, brief(t), to_string(t.device())));
}

}  // namespace detail

namespace {

void expect_writable(tensor const& dst, char const* function) {
  detail::expect_host(dst, function);
  if (dst.overlaps_itself())
    throw error(errc::invalid_argument,
                fmt::format("{} to {} whose strides give several elements one address", function,
                            brief(dst)));
}

void check(tensor const& dst, tensor const& src) {
  if (dst.dtype() != src.dtype() || dst.shape() != src.shape())
    throw error(errc::invalid_argument, fmt::format("copy of {} to {}", brief(src), brief(dst)));
  expect_writable(dst, "copy");
  detail::expect_host(src, "copy");
}

void copy_to(tensor const& dst, std::byte* to, tensor const& src) {
  detail::strided_copy(dst.shape(), size_of(dst.dtype()), to, dst.strides().data(),
                       src.const_bytes(), src.strides().data());
}

// A packed array as the other side of a copy.
std::array<std::int64_t, shape::ndim_max> packed_strides(shape const& extents) noexcept {
  std::array<std::int64_t, shape::ndim_max> strides{};
  std::int64_t step = 1;
  for (auto dim = extents.size(); dim-- > 0;) {
    strides[dim] = step;
    step *= extents[dim];
  }
  return strides;
}

void unpack_to(tensor const& dst, std::byte* to, std::byte const* from) {
  expect_writable(dst, "unpack");
  auto const packed = packed_strides(dst.shape());
  detail::strided_copy(dst.shape(), size_of(dst.dtype()), to, dst.strides().data(), from,
                       packed.data());
}

}  // namespace

void copy(tensor const& dst, tensor const& src) {
  check(dst, src);
  copy_to(dst, dst.bytes(), src);
}

void copy(tensor const& dst, tensor const& src, write_lease const& lease) {
  check(dst, src);
  copy_to(dst, dst.bytes(lease), src);
}

void pack(tensor const& src, std::byte* to) {
  detail::expect_host(src, "pack");
  auto const packed = packed_strides(src.shape());
  detail::strided_copy(src.shape(), size_of(src.dtype()), to, packed.data(), src.const_bytes(),
                       src.strides().data());
}

void unpack(tensor const& dst, std::byte const* from) { unpack_to(dst, dst.bytes(), from); }

void unpack(tensor const& dst, std::byte const* from, write_lease const& lease) {
  unpack_to(dst, dst.bytes(lease), from);
}

}  // namespace hocket
