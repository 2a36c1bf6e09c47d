// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Operations that reduce, and what they must give.
#include "cut.hpp"
#include "operations.hpp"
#include "outcome.hpp"

namespace hocket::conformance {

namespace asio = boost::asio;

namespace {

reduce_by by(trial const& t) {
  if (t.how == reduction::premultiplied_sum) return premultiplied_sum(factor_of(t.me()));
  return t.how;
}

array reduced_of(trial const& t, extents const& e) {
  std::vector<array> all;
  for (int r = 0; r < t.n(); ++r) all.push_back(t.data(r, e));
  return reduced(all, t.how);
}

bool is_refused(trial const& t, outcome const& o) {
  if (has_meaning(t.dtype, t.how)) {
    if (o.code) t.fail("success", o.code.message() + ": " + o.story);
    return static_cast<bool>(o.code);
  }
  if (o.code != errc::unsupported) t.fail("unsupported", o.code.message() + ": " + o.story);
  return true;
}

asio::awaitable<void> all_reduce(trial t) {
  buffer in(t.in, t.data(t.me()));
  buffer out(t.out, t.dtype, t.part);
  auto const o = co_await outcome_of(t.at.group.all_reduce(out.view(), in.view(), by(t)));
  if (is_refused(t, o)) co_return;
  t.expect(out, reduced_of(t, t.part));
  t.expect(in, t.data(t.me()));
}

asio::awaitable<void> all_reduce_in_place(trial t) {
  buffer both(t.out, t.data(t.me()));
  auto const o = co_await outcome_of(t.at.group.all_reduce(both.view(), by(t)));
  if (is_refused(t, o)) co_return;
  t.expect(both, reduced_of(t, t.part));
}

asio::awaitable<void> reduce(trial t) {
  buffer in(t.in, t.data(t.me()));
  auto out = t.is_root() ? buffer(t.out, t.dtype, t.part) : buffer();
  auto const o = co_await outcome_of(t.at.group.reduce(out.view(), in.view(), by(t), t.root()));
  if (is_refused(t, o)) co_return;
  if (t.is_root()) t.expect(out, reduced_of(t, t.part));
  t.expect(in, t.data(t.me()));
}

asio::awaitable<void> reduce_scatter(trial t) {
  buffer in(t.in, t.data(t.me(), t.whole()));
  buffer out(t.out, t.dtype, t.part);
  auto const o = co_await outcome_of(t.at.group.reduce_scatter(out.view(), in.view(), by(t)));
  if (is_refused(t, o)) co_return;
  t.expect(out, piece(reduced_of(t, t.whole()), t.n(), t.me(), t.part));
  t.expect(in, t.data(t.me(), t.whole()));
}

asio::awaitable<void> reduce_scatter_in_place(trial t) {
  buffer in(t.out, t.data(t.me(), t.whole()));
  auto const rows = t.whole()[0] / t.n();
  auto const mine = in.view().slice(0, t.me() * rows, rows);
  auto const o = co_await outcome_of(t.at.group.reduce_scatter(mine, in.view(), by(t)));
  if (is_refused(t, o)) co_return;
  auto part = t.part;
  if (part.empty()) part.push_back(1);
  t.expect(buffer::read(mine), piece(reduced_of(t, t.whole()), t.n(), t.me(), part));
}

asio::awaitable<void> reduce_scatter_v(trial t) {
  cut const c(t);
  t.operation += " " + to_string(c.plan());
  buffer in(t.in, t.data(t.me(), c.whole));
  buffer out(t.out, t.dtype, c.part_of(t.me()));
  auto const o =
      co_await outcome_of(t.at.group.reduce_scatter_v(out.view(), in.view(), c.plan(), by(t)));
  if (is_refused(t, o)) co_return;
  t.expect(out, take(reduced_of(t, c.whole), c.dim, c.of(t.me()), untouched));
}

constexpr tried operations[] = {
    {"all_reduce(out, in)", all_reduce},
    {"all_reduce(t) in place", all_reduce_in_place},
    {"reduce(out, in)", reduce},
    {"reduce_scatter(out, in)", reduce_scatter},
    {"reduce_scatter in place", reduce_scatter_in_place},
    {"reduce_scatter_v", reduce_scatter_v},
};

}  // namespace

std::span<tried const> reductions() { return operations; }

}  // namespace hocket::conformance
