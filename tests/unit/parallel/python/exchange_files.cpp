// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// exchange_files write|check FILE: writes the states below, or checks that a file has them.
#include <chrono>
#include <cstdio>
#include <hocket/error.hpp>
#include <hocket/parallel/model_states.hpp>
#include <string>
#include <vector>

using namespace hocket;

namespace {

// What both sides know: name, dtype, shape; elements are first, first + 1, …
class known_state {
 public:
  char const* name;
  dtype type;
  shape extents;
  std::int64_t first;
};

std::vector<known_state> const& known_states() {
  static std::vector<known_state> const all{
      {"layer.0.weight", dtype::f32, shape(5, 7), -3},
      {"layer.0.bias", dtype::f64, shape(7), 2},
      {"half", dtype::f16, shape(3, 2, 2), 0},
      {"ids", dtype::i64, shape(11), 1'000'000'000'000},
      {"small", dtype::i8, shape(4), -2},
      {"mask", dtype::boolean, shape(5), 0},
      {"bytes", dtype::u8, shape(3), 250},
      {"words", dtype::u16, shape(2), 65'000},
      {"scalar", dtype::i32, shape(), 42},
      {"größe", dtype::u32, shape(2), 7},
      {"empty", dtype::f32, shape(0, 4), 0},
  };
  return all;
}

model_states make(bool filled) {
  model_states s;
  for (auto const& k : known_states())
    s.parameter(k.name, filled ? tensor::arange(k.type, k.extents, k.first)
                               : tensor::zeros(k.type, k.extents));
  return s;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  std::string const what = argv[1];
  host_stream disk;
  try {
    if (what == "write") {
      save_model_states(make(true), argv[2], disk, {{"from", "hocket"}})
          .get(std::chrono::minutes(1));
      return 0;
    }
    auto const got = make(false);
    load_model_states(got, argv[2], disk).get(std::chrono::minutes(1));
    auto const right = make(true);
    for (auto const& [name, s] : right.parameters()) {
      if (equal(s.local(), got.parameters().find(name)->second.local())) continue;
      std::printf("%s differs\n", name.c_str());
      return 1;
    }
    return 0;
  } catch (error const& e) {
    std::printf("%s\n", e.what());
    return 1;
  }
}
