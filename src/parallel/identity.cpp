// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "identity.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <hocket/error.hpp>
#include <hocket/tensor/copy.hpp>
#include <limits>

namespace hocket::detail {
namespace {

long double lowest_of(dtype type, bool highest) {
  auto const bound = [highest]<class T>(T) {
    return static_cast<long double>(highest ? std::numeric_limits<T>::max()
                                            : std::numeric_limits<T>::lowest());
  };
  switch (type) {
    case dtype::boolean:
      return highest ? 1 : 0;
    case dtype::u8:
      return bound(std::uint8_t{});
    case dtype::i8:
      return bound(std::int8_t{});
    case dtype::i16:
      return bound(std::int16_t{});
    case dtype::u16:
      return bound(std::uint16_t{});
    case dtype::i32:
      return bound(std::int32_t{});
    case dtype::u32:
      return bound(std::uint32_t{});
    case dtype::i64:
      return bound(std::int64_t{});
    case dtype::u64:
      return bound(std::uint64_t{});
    default:
      return (highest ? 1 : -1) * std::numeric_limits<long double>::infinity();
  }
}

bool is_signed(dtype type) {
  return type == dtype::i8 || type == dtype::i16 || type == dtype::i32 || type == dtype::i64;
}

long double identity_of(dtype type, reduction how) {
  switch (how) {
    case reduction::product:
      return 1;
    case reduction::min:
      return lowest_of(type, true);
    case reduction::max:
      return lowest_of(type, false);
    case reduction::bit_and:  // every bit is set
      return is_signed(type) ? -1 : lowest_of(type, true);
    default:
      return 0;
  }
}

}  // namespace

tensor block_of(tensor const& t, tensor_box const& box, tensor_box const& origin) {
  auto view = t;
  for (std::size_t i = 0; i < box.ndim; ++i)
    view = view.slice(static_cast<std::int64_t>(i), box.start[i] - origin.start[i], box.extent[i]);
  return view;
}

bool starts_with_value(placements const& where, mesh_coordinate const& at) {
  for (std::size_t i = 0; i < where.size(); ++i)
    if (where[i].is_partial() && where[i].reduction() != reduction::average && at[i] != 0)
      return false;
  return true;
}

void fill_identity(tensor const& t, placements const& where) {
  for (auto const& p : where)
    if (p.is_partial())
      return copy(t, tensor::full(t.dtype(), t.shape(), identity_of(t.dtype(), p.reduction())));
}

}  // namespace hocket::detail
