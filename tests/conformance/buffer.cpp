// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "buffer.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace hocket::conformance {
namespace {

// Calls `f(offset in bytes)` for each element in row-major order.
template <class F>
void each_element(tensor const& t, F&& f) {
  auto const width = static_cast<std::int64_t>(size_of(t.dtype()));
  for (std::int64_t i = 0; i < t.numel(); ++i) {
    std::int64_t rest = i;
    std::int64_t offset = 0;
    for (std::size_t d = t.ndim(); d-- > 0;) {
      offset += rest % t.shape()[d] * t.strides()[d];
      rest /= t.shape()[d];
    }
    f(offset * width, i);
  }
}

tensor memory_for(form f, dtype t, extents e) {
  if (f == form::strided) e.push_back(2);
  if (f == form::transposed && e.size() > 1) std::swap(e.front(), e.back());
  return tensor::empty(t, shape_of(e));
}
tensor view_of(form f, tensor const& whole) {
  if (f == form::strided) return whole.select(-1, 1);
  if (f == form::transposed && whole.ndim() > 1) return whole.transpose(0, -1);
  return whole;
}

}  // namespace

char const* name_of(form f) {
  switch (f) {
    case form::contiguous:
      return "contiguous";
    case form::transposed:
      return "transposed";
    case form::strided:
      return "strided";
  }
  return "unknown";
}

buffer::buffer(form f, dtype t, extents const& e)
    : whole_(memory_for(f, t, e)), view_(view_of(f, whole_)) {
  std::fill_n(whole_.bytes(), whole_.nbytes(), untouched);
}

buffer::buffer(form f, array const& a) : buffer(f, a.dtype, a.extents) { write(view_, a); }

bool buffer::is_clean_around() {
  auto const width = static_cast<std::ptrdiff_t>(size_of(view_.dtype()));
  std::byte* const first = view_.bytes();
  each_element(view_,
               [&](std::int64_t at, std::int64_t) { std::fill_n(first + at, width, untouched); });
  std::byte const* const all = whole_.const_bytes();
  return std::all_of(all, all + whole_.nbytes(), [](std::byte b) { return b == untouched; });
}

array buffer::read(tensor const& t) {
  array a(t.dtype(), extents(t.shape().begin(), t.shape().end()));
  std::byte const* const first = t.const_bytes();
  each_element(t, [&](std::int64_t at, std::int64_t i) {
    std::memcpy(a.at(i), first + at, size_of(t.dtype()));
  });
  return a;
}

void buffer::write(tensor const& t, array const& a) {
  std::byte* const first = t.bytes();
  each_element(t, [&](std::int64_t at, std::int64_t i) {
    std::memcpy(first + at, a.at(i), size_of(t.dtype()));
  });
}

}  // namespace hocket::conformance
