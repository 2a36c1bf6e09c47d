// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Objects of every kind and size by every operation on objects, beside tensors, and what is
// refused.
#include <doctest/doctest.h>

#include <map>
#include <object_sample.hpp>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "buffer.hpp"
#include "engine_under_test.hpp"
#include "outcome.hpp"
#include "trial.hpp"

using namespace hocket;
using namespace hocket::conformance;
namespace asio = boost::asio;

namespace {

group_rank next(process_group const& g) { return group_rank((g.rank().value() + 1) % g.size()); }
group_rank before(process_group const& g) {
  return group_rank((g.rank().value() + g.size() - 1) % g.size());
}

/// Bytes that only this rank has.
std::string text_of(int rank, std::size_t size) {
  std::string s(size, '\0');
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < size; ++i) {
    if (i % 64 == 0) bits = mixed(7, static_cast<std::uint64_t>(rank), i);
    s[i] = static_cast<char>(bits + i);
  }
  return s;
}

/// A value of each rank's own through every operation; `same` says what arrives is what was given.
template <class T>
asio::awaitable<void> every_operation(process_group g, T (*make)(int),
                                      bool (*same)(T const&, int)) {
  int const n = g.size();
  int const me = g.rank().value();
  auto const root = group_rank(n / 2);
  bool const is_root = g.rank() == root;
  std::optional<T> given;
  if (is_root) given = make(100);
  auto const one = co_await g.broadcast_object(given, root);
  CHECK(same(one, 100));
  auto const all = co_await g.gather_objects(make(me), root);
  CHECK(all.size() == static_cast<std::size_t>(is_root ? n : 0));
  for (std::size_t r = 0; r < all.size(); ++r) CHECK(same(all[r], static_cast<int>(r)));
  std::vector<T> each;
  for (int r = 0; r < (is_root ? n : 0); ++r) each.push_back(make(10 + r));
  auto const mine = co_await g.scatter_objects(each, root);
  CHECK(same(mine, 10 + me));
  auto sent = g.send_object(make(me), next(g));
  auto const got = co_await g.recv_object<T>(before(g));
  CHECK(same(got, before(g).value()));
  co_await std::move(sent);
}

template <class T>
T value_of(int i);
template <>
bool value_of(int i) {
  return i % 2 == 0;
}
template <>
std::int8_t value_of(int i) {
  return static_cast<std::int8_t>(-i);
}
template <>
std::uint64_t value_of(int i) {
  return ~static_cast<std::uint64_t>(i);
}
template <>
double value_of(int i) {
  return i / 3.0;
}
template <>
std::string value_of(int i) {
  return text_of(i, static_cast<std::size_t>(i));
}
template <>
std::vector<std::byte> value_of(int i) {
  return std::vector<std::byte>(static_cast<std::size_t>(i), std::byte(i));
}
template <>
std::optional<std::int64_t> value_of(int i) {
  return i % 2 == 0 ? std::optional<std::int64_t>(i) : std::nullopt;
}
template <>
std::vector<bool> value_of(int i) {
  return std::vector<bool>(static_cast<std::size_t>(i), true);
}
template <>
std::map<std::string, std::vector<int>> value_of(int i) {
  std::map<std::string, std::vector<int>> m;
  for (int k = 0; k < i; ++k)
    m[std::to_string(k)] = std::vector<int>(static_cast<std::size_t>(k), i);
  return m;
}
template <>
std::variant<std::monostate, int, std::string> value_of(int i) {
  if (i % 3 == 0) return {};
  if (i % 3 == 1) return i;
  return std::to_string(i);
}

template <class T>
asio::awaitable<void> every_operation_of(process_group g) {
  return every_operation<T>(std::move(g), &value_of<T>,
                            [](T const& got, int i) { return got == value_of<T>(i); });
}

struct with_tensors {
  std::string name;
  tensor weights;
  std::vector<tensor> more;
};
template <class V>
void hocket_describe(V& v, with_tensors& t) {
  v(t.name, "name"), v(t.weights, "weights"), v(t.more, "more");
}
array weights_of(int i) { return patterned(dtype::f32, extents{i, 3}, seed(), i); }
with_tensors tensors_of(int i) {
  with_tensors t;
  t.name = std::to_string(i);
  t.weights = buffer(form::transposed, weights_of(i)).view();
  t.more.push_back(tensor());  // undefined
  t.more.push_back(tensor_of(patterned(dtype::boolean, {}, seed(), i)));
  t.more.push_back(tensor_of(array(dtype::f8e5m2, {0, 4})));
  return t;
}
bool same_tensors(with_tensors const& t, int i) {
  return t.name == std::to_string(i) && t.more.size() == 3 && !t.more[0].defined() &&
         buffer::read(t.weights).bytes == weights_of(i).bytes && t.weights.size(0) == i &&
         buffer::read(t.more[1]).bytes == patterned(dtype::boolean, {}, seed(), i).bytes &&
         t.more[2].shape() == shape(0, 4) && t.more[2].dtype() == dtype::f8e5m2;
}

asio::awaitable<void> every_kind(world w) {
  auto const seats = co_await seats_of(w);
  for (auto const& at : seats) {
    auto const& g = at.group;
    co_await every_operation_of<bool>(g);
    co_await every_operation_of<std::int8_t>(g);
    co_await every_operation_of<std::uint64_t>(g);
    co_await every_operation_of<double>(g);
    co_await every_operation_of<std::string>(g);
    co_await every_operation_of<std::vector<std::byte>>(g);
    co_await every_operation_of<std::optional<std::int64_t>>(g);
    co_await every_operation_of<std::vector<bool>>(g);
    co_await every_operation_of<std::map<std::string, std::vector<int>>>(g);
    co_await every_operation_of<std::variant<std::monostate, int, std::string>>(g);
    co_await every_operation<with_tensors>(g, &tensors_of, &same_tensors);
  }
  auto const root = group_rank(0);
  std::optional<sample::everything> all;
  if (w.rank().value() == 0) all = sample::make_everything();
  auto const got = co_await w.group().broadcast_object(all, root);
  CHECK(same(got, sample::make_everything()));
}

// Encoded sizes around the 4 KiB of one round and the limits of frames, and far beyond; each rank's
// own, so that large and empty ones meet.
asio::awaitable<void> every_size(world w) {
  static constexpr std::size_t sizes[] = {0,     1,     4000,     4040,           4095,
                                          4096,  4097,  8191,     8192,           65535,
                                          65536, 65537, 1u << 20, (1u << 20) + 1, 8u << 20};
  constexpr std::size_t count = std::size(sizes);
  auto const g = w.group();
  auto const n = static_cast<std::size_t>(g.size());
  auto const me = static_cast<std::size_t>(g.rank().value());
  for (std::size_t i = 0; i < count; ++i) {
    auto const size_at = [&](std::size_t r) { return sizes[(i + 5 * r) % count]; };
    auto const root = group_rank(static_cast<int>(i % n));
    std::optional<std::string> given;
    if (me == i % n) given = text_of(7, sizes[i]);
    auto const one = co_await g.broadcast_object(given, root);
    CHECK(one == text_of(7, sizes[i]));
    if (i % 3 != 0) continue;
    auto const all = co_await g.gather_objects(text_of(static_cast<int>(me), size_at(me)), root);
    for (std::size_t r = 0; r < all.size(); ++r)
      CHECK(all[r] == text_of(static_cast<int>(r), size_at(r)));
    std::vector<std::string> each;
    for (std::size_t r = 0; r < n && me == i % n; ++r)
      each.push_back(text_of(static_cast<int>(r), size_at(r)));
    auto const mine = co_await g.scatter_objects(each, root);
    CHECK(mine == text_of(static_cast<int>(me), size_at(me)));
    auto sent = g.send_object(text_of(static_cast<int>(me), size_at(me)), next(g));
    auto const got = co_await g.recv_object<std::string>(before(g));
    auto const from = static_cast<std::size_t>(before(g).value());
    CHECK(got == text_of(static_cast<int>(from), size_at(from)));
    co_await std::move(sent);
  }
}

// Only the root has a value; nobody has one.
asio::awaitable<void> empty_ones(world w) {
  auto const g = w.group();
  int const me = g.rank().value();
  auto const root = group_rank(g.size() - 1);
  bool const is_root = g.rank() == root;
  std::vector<std::string> none;
  if (is_root) none.assign(static_cast<std::size_t>(g.size()), "");
  auto const part = co_await g.scatter_objects(none, root);
  CHECK(part.empty());
  auto const nothing = co_await outcome_of(g.broadcast_object(std::optional<std::string>(), root));
  CHECK(nothing.code == (is_root ? errc::invalid_argument : errc::peer_failed));
  std::vector<int> wrong;
  if (is_root) wrong.assign(static_cast<std::size_t>(g.size() + 1), 5);
  auto const count = co_await outcome_of(g.scatter_objects(wrong, root));
  CHECK(count.code == (is_root ? errc::invalid_argument : errc::peer_failed));
  CHECK_MESSAGE(count.tells(std::to_string(g.size() + 1)), count.story);
  auto const all = co_await g.gather_objects(std::string(), root);
  CHECK(all.size() == static_cast<std::size_t>(is_root ? g.size() : 0));
  std::optional<int> seven;
  if (is_root) seven = 7;
  auto const got = co_await g.broadcast_object(seven, root);
  CHECK(got == 7);
  CHECK(me == g.rank().value());
}

// An object above a member's limit: typed, told to all that wait for it, and the group goes on.
asio::awaitable<void> limits(world w) {
  int const n = w.size();
  auto const members = rank_group::consecutive(world_rank(0), n);
  auto const small = object_limits().bytes_max(1000).depth_max(3);
  auto const options = group_options().name("small objects").objects(small).deadline(hang);
  auto const g = co_await make_group(w, members, options);
  auto const root = group_rank(n - 1);
  bool const is_root = g.rank() == root;
  std::optional<std::string> large;
  if (is_root) large = std::string(2000, 'x');
  auto const o = co_await outcome_of(g.broadcast_object(large, root));
  CHECK_MESSAGE(o.code == (is_root ? errc::too_large : errc::peer_failed), o.story);
  CHECK_MESSAGE(o.tells("1000"), o.story);
  using nested = std::vector<std::vector<std::vector<std::vector<std::vector<int>>>>>;
  std::optional<nested> deep;
  if (is_root)
    deep = nested(
        1, std::vector<std::vector<std::vector<std::vector<int>>>>(
               1, std::vector<std::vector<std::vector<int>>>(1, std::vector<std::vector<int>>(1))));
  auto const d = co_await outcome_of(g.broadcast_object(deep, root));
  CHECK_MESSAGE(d.code == (is_root ? errc::too_large : errc::peer_failed), d.story);
  std::optional<std::string> fits;
  if (is_root) fits = std::string(900, 'x');
  auto const got = co_await g.broadcast_object(fits, root);
  CHECK(got.size() == 900);
}

// Integers of any width as long as the value fits: else it is the reader's error, and its alone.
asio::awaitable<void> widths(world w) {
  auto const g = w.group();
  if (w.rank().value() == 0) {
    co_await g.send_object(std::int64_t{77}, group_rank(1));
    co_await g.send_object(std::int64_t{300}, group_rank(1));
  } else {
    auto const narrow = co_await g.recv_object<std::uint8_t>(group_rank(0));
    CHECK(narrow == 77);
    auto const o = co_await outcome_of(g.recv_object<std::uint8_t>(group_rank(0)));
    CHECK_MESSAGE(o.code == errc::corrupt, o.story);
  }
  co_await g.barrier();
}

// Objects and tensors of one group under way at once, waited for in another order than called.
asio::awaitable<void> overlapped(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  std::vector<work<std::string>> objects;
  std::vector<work<>> gathers;
  std::vector<tensor> outs;
  for (int i = 0; i < 20; ++i) {
    auto const size = static_cast<std::size_t>(i % 4 == 0 ? 100000 : 10 * i);
    std::optional<std::string> given;
    if (me == i % n) given = text_of(i, size);
    objects.push_back(g.broadcast_object(given, group_rank(i % n)));
    outs.push_back(tensor::zeros(dtype::i32, {n * (i + 1)}));
    gathers.push_back(g.all_gather(outs.back(), tensor::full(dtype::i32, {i + 1}, 100 * i + me)));
    CHECK(objects.back().info().sequence == static_cast<std::uint64_t>(2 * i));
    CHECK(gathers.back().info().sequence == static_cast<std::uint64_t>(2 * i + 1));
  }
  for (int i = 20; i-- > 0;) {
    auto const at = static_cast<std::size_t>(i);
    co_await std::move(gathers[at]);
    for (int r = 0; r < n; ++r) CHECK(outs[at].item<std::int32_t>(r * (i + 1)) == 100 * i + r);
    auto const got = co_await std::move(objects[at]);
    CHECK(got == text_of(i, static_cast<std::size_t>(i % 4 == 0 ? 100000 : 10 * i)));
  }
}

}  // namespace

TEST_CASE("values of every kind travel by every operation on objects, in every group") {
  for (int n : rank_counts) run(n, every_kind);
  run_on_threads(3, every_kind);
}
TEST_CASE("objects of unequal sizes, from nothing to 8 MiB, arrive whole") {
  for (int n : {2, 3}) run(n, every_size);
}
TEST_CASE("empty objects arrive, and a root without one is told so on all ranks") {
  for (int n : rank_counts) run_everywhere(n, empty_ones);
}
TEST_CASE("an object past a limit of its group is refused on all ranks, and the group goes on") {
  for (int n : {2, 3, 5}) run_everywhere(n, limits);
}
TEST_CASE("an integer that does not fit is the error of its reader") { run_everywhere(2, widths); }
TEST_CASE("objects and tensors of one group under way at once keep the order of the calls") {
  for (int n : rank_counts) run_everywhere(n, overlapped);
}
