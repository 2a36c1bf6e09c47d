// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/detail/object_codec.hpp>
#include <hocket/group/detail/object_containers.hpp>
#include <hocket/group/detail/object_reader.hpp>
#include <hocket/group/detail/object_writer.hpp>
#include <hocket/group/object_header.hpp>
#include <hocket/group/object_limits.hpp>
#include <hocket/group/parcel.hpp>
#include <type_traits>
#include <utility>

namespace hocket {

/// Encodes a value: bool, integers, enums, float, double, std::string, std::vector<std::byte>,
/// std::monostate, tensors, and of those std::vector, std::array, std::pair, std::tuple, std::map,
/// std::unordered_map, std::optional, std::variant and structs; also, one way, std::string_view
/// (read as std::string) and std::span (read as std::vector). A struct is told once, in its own
/// namespace, for both directions:
///
///     template <class V> void hocket_describe(V& v, my_struct& s) { v(s.a, "a"); v(s.b, "b"); }
///
/// (A class template has it as a friend inside; a derived class has its own.)
/// The names travel, and a receiver with other fields says so. For a change that names do not show
/// the description may begin with `v.version(3)`, which refuses every other version, or with
/// `auto have = v.version(3, 2)`, which takes 2 and 3 and returns that of the bytes.
///
/// Tensors are not copied: the parcel holds further references, one for each place in the value.
/// Throws errc::too_large past a limit, errc::invalid_argument for a valueless variant or a field
/// name that is not 1 to 255 bytes long.
template <class T>
[[nodiscard]] parcel encode_object(T const& value, object_limits const& limits = object_limits()) {
  detail::object_writer w(limits);
  w.value(value);
  return std::move(w).finish();
}

/// The value in `p`, which may come from anywhere: lengths, types and tensors are checked, nothing
/// in it runs, and memory grows only with bytes that are present. `p.bytes` is one-dimensional
/// contiguous host memory; tensors are returned as they are attached, wherever they lie.
///
/// Integers may change width and sign between sender and receiver when the value fits. Enums are
/// read as integers: no check that the value has a name.
/// Throws errc::corrupt for damaged bytes and numbers that do not fit, errc::mismatch when the
/// sender's type is another one, errc::too_large past a limit; all say at which byte.
template <class T>
[[nodiscard]] T decode_object(parcel const& p, object_limits const& limits = object_limits()) {
  static_assert(std::is_default_constructible_v<T>, "an object is made first, then filled");
  detail::object_reader r(p, limits);
  T value = T();
  r.value(value);
  r.finish();
  return value;
}

}  // namespace hocket
