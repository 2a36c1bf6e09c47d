// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <hocket/tensor/device.hpp>
#include <hocket/tensor/shape.hpp>

namespace hocket {

void shape::fail(std::int64_t extent) const {
  if (extent < 0)
    throw error(errc::invalid_argument,
                fmt::format("extent {} of dimension {} is negative", extent, size_));
  throw error(errc::invalid_argument, fmt::format("more than {} dimensions: {} and another {}",
                                                  ndim_max, hocket::to_string(*this), extent));
}

void shape::set(std::size_t dim, std::int64_t extent) {
  HOCKET_ASSERT(dim < size_);
  if (extent < 0)
    throw error(errc::invalid_argument,
                fmt::format("extent {} of dimension {} is negative", extent, dim));
  extents_[dim] = extent;
}

std::int64_t shape::numel() const {
  // A zero anywhere wins over an overflow of the others: there is nothing to address.
  for (auto const extent : *this)
    if (extent == 0) return 0;
  std::int64_t count = 1;
  for (auto const extent : *this)
    if (__builtin_mul_overflow(count, extent, &count))
      throw error(errc::too_large, fmt::format("shape {} has more than 2^63 - 1 elements",
                                               hocket::to_string(*this)));
  return count;
}

std::size_t shape::dim_index(std::int64_t dim) const {
  auto const n = static_cast<std::int64_t>(size_);
  if (dim < -n || dim >= n) {
    if (n == 0)
      throw error(errc::invalid_argument,
                  fmt::format("dimension {} of a scalar: it has none", dim));
    throw error(errc::invalid_argument, fmt::format("dimension {} is not in [{}, {}) of shape {}",
                                                    dim, -n, n, hocket::to_string(*this)));
  }
  return static_cast<std::size_t>(dim < 0 ? dim + n : dim);
}

std::string to_string(shape const& s) { return fmt::format("[{}]", fmt::join(s, ",")); }

std::string to_string(device d) {
  return d.kind == device_kind::host ? "host" : fmt::format("cuda:{}", d.index);
}

}  // namespace hocket
