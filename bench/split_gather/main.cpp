// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What do split and gather cost beyond the copying? Yardstick: memcpy of the same bytes.
#include <cstring>
#include <hocket/tensor/split_plan.hpp>
#include <hocket/tensor/tensor.hpp>
#include <string>
#include <vector>

#include "../support/rounds.hpp"

using namespace hocket;

namespace {

void measure(shape const& full, std::int64_t dim, layout how, int repeats) {
  constexpr int parts = 4;
  auto const x = tensor::arange(dtype::f32, full);
  auto const plan = make_split_plan(how, full, parts, dim);
  auto const to = tensor::empty(dtype::f32, full);
  std::vector<tensor> shards;
  for (int p = 0; p < parts; ++p) shards.push_back(split(x, plan, p));

  bench::competitors c;
  c.add("yardstick: memcpy of the whole", repeats, [&] {
    for (int i = 0; i < repeats; ++i) std::memcpy(to.bytes(), x.const_bytes(), x.nbytes());
  });
  c.add("hocket: split into 4 parts", repeats, [&] {
    for (int i = 0; i < repeats; ++i)
      for (int p = 0; p < parts; ++p) shards[static_cast<std::size_t>(p)] = split(x, plan, p);
  });
  c.add("hocket: place 4 parts into the whole", repeats, [&] {
    for (int i = 0; i < repeats; ++i)
      for (int p = 0; p < parts; ++p) place(to, shards[static_cast<std::size_t>(p)], plan, p);
  });
  c.print((brief(x) + ", " + to_string(plan)).c_str());
}

}  // namespace

int main() {
  measure({1, 600, 384}, 1, layout::balanced, 200);
  measure({16, 600, 384}, 1, layout::balanced, 20);
  measure({1, 16, 24, 88, 160}, 2, layout::strict, 4);
  measure({4, 2048, 1024}, 1, layout::zigzag, 4);
}
