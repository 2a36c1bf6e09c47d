// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "reference.hpp"

#include <algorithm>
#include <cstring>

namespace hocket::conformance {

std::int64_t count_of(extents const& e) {
  std::int64_t n = 1;
  for (auto const x : e) n *= x;
  return n;
}

array::array(hocket::dtype t, conformance::extents e)
    : dtype(t), extents(std::move(e)), bytes(static_cast<std::size_t>(count()) * size_of(t)) {}

std::byte* array::at(std::int64_t i) {
  return bytes.data() + static_cast<std::size_t>(i) * size_of(dtype);
}
std::byte const* array::at(std::int64_t i) const {
  return bytes.data() + static_cast<std::size_t>(i) * size_of(dtype);
}

std::uint64_t mixed(std::uint64_t seed, std::uint64_t rank, std::uint64_t index) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + rank * 0xbf58476d1ce4e5b9u + index + 1;
  for (int i = 0; i < 2; ++i) {
    x ^= x >> 31;
    x *= 0x94d049bb133111ebu;
  }
  return x ^ (x >> 29);
}

array patterned(dtype t, extents const& e, std::uint64_t seed, int rank) {
  array a(t, e);
  for (std::size_t i = 0; i < a.bytes.size(); ++i) {
    auto const x = mixed(seed, static_cast<std::uint64_t>(rank), i);
    a.bytes[i] = static_cast<std::byte>(t == dtype::boolean ? x & 1 : x & 255);
  }
  return a;
}

std::vector<std::int64_t> indices_of(layout how, std::int64_t length, int parts, int part) {
  std::vector<std::int64_t> all;
  auto const run = [&all](std::int64_t from, std::int64_t to) {
    for (std::int64_t i = from; i < to; ++i) all.push_back(i);
  };
  switch (how) {
    case layout::strict:
      run(length / parts * part, length / parts * (part + 1));
      break;
    case layout::balanced: {
      std::int64_t start = 0;
      for (int p = 0; p < part; ++p) start += length / parts + (p < length % parts ? 1 : 0);
      run(start, start + length / parts + (part < length % parts ? 1 : 0));
      break;
    }
    case layout::padded: {
      std::int64_t const each = (length + parts - 1) / parts;
      for (std::int64_t i = each * part; i < each * (part + 1); ++i)
        all.push_back(i < length ? i : -1);
      break;
    }
    case layout::zigzag: {
      std::int64_t const chunk = length / (2 * parts);
      run(chunk * part, chunk * (part + 1));
      run(chunk * (2 * parts - 1 - part), chunk * (2 * parts - part));
      break;
    }
    case layout::uneven:  // of this suite: the last part has all but `parts - 1` of the indices
      run(part, part == parts - 1 ? length : part + 1);
      break;
  }
  return all;
}

namespace {

// How elements lie around dimension `dim`: `outer` blocks of `extent` rows of `row` bytes.
struct blocks {
  std::int64_t outer = 1;
  std::size_t row = 0;
  blocks(array const& a, std::size_t dim) : row(size_of(a.dtype)) {
    for (std::size_t d = 0; d < dim; ++d) outer *= a.extents[d];
    for (std::size_t d = dim + 1; d < a.extents.size(); ++d)
      row *= static_cast<std::size_t>(a.extents[d]);
  }
  [[nodiscard]] std::size_t place(std::int64_t block, std::int64_t extent, std::int64_t i) const {
    return static_cast<std::size_t>(block * extent + i) * row;
  }
};

}  // namespace

array take(array const& whole, std::size_t dim, std::vector<std::int64_t> const& indices,
           std::byte padding) {
  extents e = whole.extents;
  e[dim] = static_cast<std::int64_t>(indices.size());
  array part(whole.dtype, e);
  std::fill(part.bytes.begin(), part.bytes.end(), padding);
  blocks const b(whole, dim);
  for (std::int64_t o = 0; o < b.outer; ++o)
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < 0) continue;
      std::copy_n(whole.bytes.begin() +
                      static_cast<std::ptrdiff_t>(b.place(o, whole.extents[dim], indices[i])),
                  b.row,
                  part.bytes.begin() + static_cast<std::ptrdiff_t>(
                                           b.place(o, e[dim], static_cast<std::int64_t>(i))));
    }
  return part;
}

void put(array& whole, array const& part, std::size_t dim,
         std::vector<std::int64_t> const& indices) {
  blocks const b(whole, dim);
  for (std::int64_t o = 0; o < b.outer; ++o)
    for (std::size_t i = 0; i < indices.size(); ++i) {
      if (indices[i] < 0) continue;
      auto const from = b.place(o, part.extents[dim], static_cast<std::int64_t>(i));
      std::copy_n(part.bytes.begin() + static_cast<std::ptrdiff_t>(from), b.row,
                  whole.bytes.begin() +
                      static_cast<std::ptrdiff_t>(b.place(o, whole.extents[dim], indices[i])));
    }
}

array joined(std::vector<array> const& parts) {
  extents e = parts.front().extents;
  if (e.empty()) e.push_back(1);
  e[0] *= static_cast<std::int64_t>(parts.size());
  array whole(parts.front().dtype, e);
  whole.bytes.clear();
  for (auto const& p : parts) whole.bytes.insert(whole.bytes.end(), p.bytes.begin(), p.bytes.end());
  return whole;
}

array piece(array const& whole, int parts, int part, extents const& e) {
  array one(whole.dtype, e);
  auto const each = whole.bytes.size() / static_cast<std::size_t>(parts);
  std::copy_n(whole.bytes.begin() + static_cast<std::ptrdiff_t>(each) * part, each,
              one.bytes.begin());
  return one;
}

}  // namespace hocket::conformance
