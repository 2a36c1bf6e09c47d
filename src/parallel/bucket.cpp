// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "bucket.hpp"

#include <algorithm>
#include <hocket/tensor/copy.hpp>

namespace hocket::detail {
namespace {

// Below this a copy costs less than a broadcast of its own.
constexpr std::size_t small_bytes = std::size_t{1} << 20;

tensor bytes_of(tensor const& t, std::size_t start, std::size_t n) {
  auto const offset = static_cast<std::size_t>(t.storage_offset()) * size_of(t.dtype()) + start;
  return tensor::from_storage(t.storage(), dtype::u8, shape(n), static_cast<std::int64_t>(offset));
}

// Views of a tensor that are small enough.
template <class F>
void for_each_part(tensor const& t, std::size_t bytes_max, F const& f) {
  if (t.nbytes() <= bytes_max) return f(t);
  std::int64_t dim = 0;
  while (t.size(dim) == 1) ++dim;
  auto const half = t.size(dim) / 2;
  for_each_part(t.slice(dim, 0, half), bytes_max, f);
  for_each_part(t.slice(dim, half, t.size(dim) - half), bytes_max, f);
}

}  // namespace

void bucket::add(tensor const& t, std::size_t start, std::size_t bytes) {
  pieces_.push_back({t, start, bytes});
  bytes_ += bytes;
}

bool bucket::lies_in_place() const {
  return pieces_.size() == 1 && pieces_.front().of.is_contiguous();
}

tensor bucket::pack(bool filled) {
  auto const& first = pieces_.front();
  if (lies_in_place()) return bytes_of(first.of, first.start, first.bytes);
  packed_ = tensor::empty(dtype::u8, shape(bytes_));
  if (!filled) return packed_;
  auto* to = packed_.bytes();
  for (auto const& p : pieces_) {
    hocket::pack(p.of, to);
    to += p.bytes;
  }
  return packed_;
}

void bucket::unpack() {
  if (lies_in_place()) return;
  auto const* from = packed_.const_bytes();
  for (auto const& p : pieces_) {
    hocket::unpack(p.of, from);
    from += p.bytes;
  }
  packed_ = tensor();
}

std::vector<bucket> buckets_of(model_states const& states, std::size_t bytes_max) {
  std::vector<bucket> all;
  bool open = false;  // the last one may take more
  auto const add_packed = [&](tensor const& t) {
    auto const n = t.nbytes();
    if (!open || all.back().bytes() + n > bytes_max) all.emplace_back();
    all.back().add(t, 0, n);
    open = true;
  };
  auto const add = [&](tensor const& t) {
    auto const n = t.nbytes();
    if (n == 0) return;
    if (n < small_bytes && n <= bytes_max) return add_packed(t);
    if (!t.is_contiguous()) return for_each_part(t, bytes_max, add_packed);
    open = false;
    for (std::size_t start = 0; start < n; start += bytes_max)
      all.emplace_back().add(t, start, std::min(bytes_max, n - start));
  };
  for (auto const* const table : {&states.parameters(), &states.buffers()})
    for (auto const& [name, s] : *table) add(s.local());
  return all;
}

}  // namespace hocket::detail
