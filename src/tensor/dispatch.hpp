// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/tensor/dtype.hpp>

namespace hocket::detail {

/// Calls `f.template operator()<T>()` with the C++ type of a dtype.
template <class F>
decltype(auto) with_element_type(dtype type, F&& f) {
  switch (type) {
    case dtype::boolean:
      return f.template operator()<bool>();
    case dtype::u8:
      return f.template operator()<std::uint8_t>();
    case dtype::i8:
      return f.template operator()<std::int8_t>();
    case dtype::i16:
      return f.template operator()<std::int16_t>();
    case dtype::u16:
      return f.template operator()<std::uint16_t>();
    case dtype::i32:
      return f.template operator()<std::int32_t>();
    case dtype::u32:
      return f.template operator()<std::uint32_t>();
    case dtype::i64:
      return f.template operator()<std::int64_t>();
    case dtype::u64:
      return f.template operator()<std::uint64_t>();
    case dtype::f16:
      return f.template operator()<float16>();
    case dtype::bf16:
      return f.template operator()<bfloat16>();
    case dtype::f32:
      return f.template operator()<float>();
    case dtype::f64:
      return f.template operator()<double>();
    case dtype::c64:
      return f.template operator()<std::complex<float>>();
    case dtype::c128:
      return f.template operator()<std::complex<double>>();
    case dtype::f8e4m3:
      return f.template operator()<float8_e4m3>();
    case dtype::f8e5m2:
      return f.template operator()<float8_e5m2>();
  }
  __builtin_unreachable();
}

}  // namespace hocket::detail
