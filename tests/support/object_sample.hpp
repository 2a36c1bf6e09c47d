// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <hocket/group/object.hpp>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace sample {

enum class mode : std::int8_t { draft = -3, final = 7 };

struct point {
  std::int32_t x = 0;
  double y = 0;
  friend bool operator==(point const&, point const&) = default;
};

template <class V>
void hocket_describe(V& v, point& p) {
  v(p.x, "x");
  v(p.y, "y");
}

/// Every kind of value that an object can hold.
struct everything {
  bool flag = false;
  std::int8_t tiny = 0;
  std::uint64_t huge = 0;
  mode kind = mode::draft;
  float f = 0;
  double d = 0;
  std::string text;
  std::vector<std::byte> blob;
  std::vector<std::uint16_t> packed;
  std::array<double, 3> fixed{};
  std::vector<bool> bits;
  std::vector<point> points;
  std::pair<int, std::string> both;
  std::tuple<bool, std::uint8_t, std::optional<int>> three;
  std::map<std::string, std::vector<int>> sorted;
  std::unordered_map<int, point> hashed;
  std::optional<std::string> present;
  std::optional<std::int64_t> absent;
  std::variant<std::monostate, int, point, std::string> choice;
  hocket::tensor weights;
  hocket::tensor mask;
  hocket::tensor undefined;
  std::vector<hocket::tensor> list;
};

template <class V>
void hocket_describe(V& v, everything& e) {
  v.version(4);
  v(e.flag, "flag");
  v(e.tiny, "tiny");
  v(e.huge, "huge");
  v(e.kind, "kind");
  v(e.f, "f");
  v(e.d, "d");
  v(e.text, "text");
  v(e.blob, "blob");
  v(e.packed, "packed");
  v(e.fixed, "fixed");
  v(e.bits, "bits");
  v(e.points, "points");
  v(e.both, "both");
  v(e.three, "three");
  v(e.sorted, "sorted");
  v(e.hashed, "hashed");
  v(e.present, "present");
  v(e.absent, "absent");
  v(e.choice, "choice");
  v(e.weights, "weights");
  v(e.mask, "mask");
  v(e.undefined, "undefined");
  v(e.list, "list");
}

inline everything make_everything() {
  everything e;
  e.flag = true;
  e.tiny = -128;
  e.huge = 0xfedcba9876543210;
  e.kind = mode::final;
  e.f = -0.25F;
  e.d = 1e300;
  e.text = std::string("zero \0 inside", 13);
  e.blob = {std::byte{0}, std::byte{255}, std::byte{7}};
  e.packed = {0, 65535, 17};
  e.fixed = {1.5, -2.5, 3.5};
  e.bits = {true, false, true, true, false};
  e.points = {{1, 0.5}, {-2, 0.25}};
  e.both = {-5, "five"};
  e.three = {true, std::uint8_t{200}, 42};
  e.sorted = {{"a", {1, 2, 3}}, {"", {}}, {"z", {-1}}};
  e.hashed = {{3, {3, 3.5}}, {-4, {4, 4.5}}};
  e.present = "";
  e.choice = point{9, 9.5};
  e.weights = hocket::tensor::arange(hocket::dtype::f32, hocket::shape(3, 5, 1));
  e.mask = hocket::tensor::zeros(hocket::dtype::boolean, hocket::shape(0, 7));
  e.list = {hocket::tensor::full(hocket::dtype::i64, hocket::shape(), 11), hocket::tensor(),
            e.weights.transpose(0, 1)};
  return e;
}

inline bool same(everything const& a, everything const& b) {
  auto const plain = [](everything const& e) {
    return std::tie(e.flag, e.tiny, e.huge, e.kind, e.f, e.d, e.text, e.blob, e.packed, e.fixed,
                    e.bits, e.points, e.both, e.three, e.sorted, e.hashed, e.present, e.absent,
                    e.choice);
  };
  if (plain(a) != plain(b) || a.list.size() != b.list.size()) return false;
  for (std::size_t i = 0; i < a.list.size(); ++i)
    if (!equal(a.list[i], b.list[i])) return false;
  return equal(a.weights, b.weights) && equal(a.mask, b.mask) && equal(a.undefined, b.undefined);
}

}  // namespace sample
