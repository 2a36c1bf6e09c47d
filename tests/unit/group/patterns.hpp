// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <exception>
#include <hocket/error.hpp>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/tensor.hpp>
#include <string>
#include <utility>

namespace hocket::test {

/// Any bits, different for every seed and element.
inline tensor patterned(dtype type, shape const& extents, int seed) {
  auto t = tensor::empty(type, extents);
  auto* const bytes = reinterpret_cast<std::uint8_t*>(t.bytes());
  for (std::size_t i = 0; i < t.nbytes(); ++i) {
    auto x =
        static_cast<std::uint32_t>(i) * 2654435761u + static_cast<std::uint32_t>(seed) * 40503u;
    x ^= x >> 15;
    x *= 2246822519u;
    x ^= x >> 13;
    bytes[i] = static_cast<std::uint8_t>(type == dtype::boolean ? x & 1 : x);
  }
  return t;
}

enum class form { contiguous, transposed, strided };

/// An uncleared tensor of that shape whose elements lie as the form says.
inline tensor laid_out(form how, dtype type, shape const& extents) {
  auto const n = extents.size();
  if (how == form::contiguous || n == 0) return tensor::empty(type, extents);
  if (how == form::transposed && n > 1) {
    shape turned = extents;
    turned.set(0, extents[n - 1]);
    turned.set(n - 1, extents[0]);
    return tensor::empty(type, turned).transpose(0, -1);
  }
  shape wide = extents;
  wide.set(n - 1, 2 * extents[n - 1] + 1);
  return tensor::empty(type, wide).slice(-1, 1, extents[n - 1]);
}

/// The same elements, laid out otherwise.
inline tensor as(form how, tensor const& t) {
  auto made = laid_out(how, t.dtype(), t.shape());
  copy(made, t);
  return made;
}

/// What became of a call, where a test expects it to fail.
struct ending {
  boost::system::error_code code;
  std::string story;
  [[nodiscard]] bool tells(std::string const& text) const {
    return story.find(text) != std::string::npos;
  }
};

inline ending ending_of(std::exception_ptr const& e) {
  if (!e) return {};
  try {
    std::rethrow_exception(e);
  } catch (boost::system::system_error const& x) {
    return {x.code(), x.what()};
  } catch (std::exception const& x) {
    return {make_error_code(errc::corrupt), x.what()};
  }
}

}  // namespace hocket::test
