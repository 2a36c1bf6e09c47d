// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Operations that move tensors, and what must arrive.
#include <optional>

#include "cut.hpp"
#include "operations.hpp"

namespace hocket::conformance {

namespace asio = boost::asio;

namespace {

// What this member has; the reader or writer of the root, the other form elsewhere.
buffer given_by_root(trial const& t, array const& a) {
  return t.is_root() ? buffer(t.in, a) : buffer();
}

asio::awaitable<void> broadcast(trial t) {
  auto const want = t.data(t.root().value());
  auto b = t.is_root() ? buffer(t.in, want) : buffer(t.out, t.dtype, t.part);
  co_await t.at.group.broadcast(b.view(), t.root());
  t.expect(b, want);
}

asio::awaitable<void> broadcast_unknown(trial t) {
  auto const want = t.data(t.root().value());
  std::optional<tensor> x;
  auto b = given_by_root(t, want);
  if (t.is_root()) x = b.view();
  auto const got = co_await t.at.group.broadcast(std::move(x), t.root());
  if (!got) co_return t.fail("a tensor", "nothing");
  t.expect(buffer::read(*got), want);
}

std::vector<array> everybody(trial const& t) {
  std::vector<array> all;
  for (int r = 0; r < t.n(); ++r) all.push_back(t.data(r));
  return all;
}

asio::awaitable<void> all_gather(trial t) {
  buffer in(t.in, t.data(t.me()));
  buffer out(t.out, t.dtype, t.whole());
  co_await t.at.group.all_gather(out.view(), in.view());
  t.expect(out, joined(everybody(t)));
  t.expect(in, t.data(t.me()));
}

asio::awaitable<void> all_gather_in_place(trial t) {
  buffer out(t.out, t.dtype, t.whole());
  auto const rows = t.whole()[0] / t.n();
  auto const mine = out.view().slice(0, t.me() * rows, rows);
  auto own = t.data(t.me());
  if (own.extents.empty()) own.extents.push_back(1);
  buffer::write(mine, own);
  co_await t.at.group.all_gather(out.view(), mine);
  t.expect(out, joined(everybody(t)));
}

asio::awaitable<void> gather(trial t) {
  buffer in(t.in, t.data(t.me()));
  auto out = t.is_root() ? buffer(t.out, t.dtype, t.whole()) : buffer();
  co_await t.at.group.gather(out.view(), in.view(), t.root());
  if (t.is_root()) t.expect(out, joined(everybody(t)));
  t.expect(in, t.data(t.me()));
}

asio::awaitable<void> scatter(trial t) {
  auto const all = t.data(t.root().value(), t.whole());
  auto in = given_by_root(t, all);
  buffer out(t.out, t.dtype, t.part);
  co_await t.at.group.scatter(out.view(), in.view(), t.root());
  t.expect(out, piece(all, t.n(), t.me(), t.part));
}

asio::awaitable<void> all_to_all(trial t) {
  buffer in(t.in, t.data(t.me(), t.whole()));
  buffer out(t.out, t.dtype, t.whole());
  co_await t.at.group.all_to_all(out.view(), in.view());
  std::vector<array> parts;
  for (int r = 0; r < t.n(); ++r)
    parts.push_back(piece(t.data(r, t.whole()), t.n(), t.me(), t.part));
  t.expect(out, joined(parts));
  t.expect(in, t.data(t.me(), t.whole()));
}

asio::awaitable<void> all_to_all_in_place(trial t) {
  buffer both(t.out, t.data(t.me(), t.whole()));
  co_await t.at.group.all_to_all(both.view(), both.view());
  std::vector<array> parts;
  for (int r = 0; r < t.n(); ++r)
    parts.push_back(piece(t.data(r, t.whole()), t.n(), t.me(), t.part));
  t.expect(both, joined(parts));
}

// --- parts of any sizes, by every layout along every dimension

asio::awaitable<void> all_gather_v(trial t) {
  cut const c(t);
  t.operation += " " + to_string(c.plan());
  buffer in(t.in, t.data(t.me(), c.part_of(t.me())));
  buffer out(t.out, t.dtype, c.whole);
  co_await t.at.group.all_gather_v(out.view(), in.view(), c.plan());
  t.expect(out, c.gathered(t));
}

asio::awaitable<void> gather_v(trial t) {
  cut const c(t);
  t.operation += " " + to_string(c.plan());
  buffer in(t.in, t.data(t.me(), c.part_of(t.me())));
  auto out = t.is_root() ? buffer(t.out, t.dtype, c.whole) : buffer();
  co_await t.at.group.gather_v(out.view(), in.view(), c.plan(), t.root());
  if (t.is_root()) t.expect(out, c.gathered(t));
}

asio::awaitable<void> scatter_v(trial t) {
  cut const c(t);
  t.operation += " " + to_string(c.plan());
  auto const all = t.data(t.root().value(), c.whole);
  auto in = given_by_root(t, all);
  buffer out(t.out, t.dtype, c.part_of(t.me()));
  co_await t.at.group.scatter_v(out.view(), in.view(), c.plan(), t.root());
  t.expect(out, take(all, c.dim, c.of(t.me()), untouched));  // padding is left as it is
}

asio::awaitable<void> scatter_unknown(trial t) {
  cut const c(t);
  if (c.how == layout::uneven) co_return;  // which has no name for the others to know it by
  t.operation += " " + to_string(c.plan());
  auto const all = t.data(t.root().value(), c.whole);
  std::optional<tensor> x;
  auto b = given_by_root(t, all);
  if (t.is_root()) x = b.view();
  auto const from_the_back =
      static_cast<std::int64_t>(c.dim) - static_cast<std::int64_t>(c.whole.size());
  auto const got = co_await t.at.group.scatter(std::move(x), from_the_back, c.how, t.root());
  if (!got) co_return t.fail("a part", "nothing");
  t.expect(buffer::read(*got), take(all, c.dim, c.of(t.me())));
}

// Rows that `from` has for `to`: some none, and the group's second rank has none at all.
std::int64_t rows_between(trial const& t, int from, int to) {
  if (t.n() > 2 && (from == 1 || to == 1)) return 0;
  return static_cast<std::int64_t>(
      mixed(t.seed, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to)) % 4);
}

extents rows_of(trial const& t, std::int64_t rows) {
  extents e = t.part;
  if (e.empty()) e.push_back(1);
  e[0] = rows;
  return e;
}

asio::awaitable<void> all_to_all_v(trial t) {
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> received;
  std::vector<array> blocks;  // that come here
  std::int64_t sent_rows = 0;
  std::int64_t received_rows = 0;
  for (int r = 0; r < t.n(); ++r) {
    sent.push_back(rows_between(t, t.me(), r));
    received.push_back(rows_between(t, r, t.me()));
    std::int64_t start = 0;
    std::int64_t total = 0;
    for (int to = 0; to < t.n(); ++to) {
      if (to == t.me()) start = total;
      total += rows_between(t, r, to);
    }
    std::vector<std::int64_t> rows;
    for (std::int64_t i = 0; i < received.back(); ++i) rows.push_back(start + i);
    blocks.push_back(take(t.data(r, rows_of(t, total)), 0, rows));
    sent_rows += sent.back();
    received_rows += received.back();
  }
  buffer in(t.in, t.data(t.me(), rows_of(t, sent_rows)));
  buffer out(t.out, t.dtype, rows_of(t, received_rows));
  auto const to_others = make_split_plan(std::span<std::int64_t const>(sent), 0);
  auto const from_others = make_split_plan(std::span<std::int64_t const>(received), 0);
  co_await t.at.group.all_to_all_v(out.view(), from_others, in.view(), to_others);
  auto want = joined(blocks);
  want.extents = rows_of(t, received_rows);
  t.expect(out, want);
}

// --- messages, around the ring; of one rank to itself

asio::awaitable<void> send_recv(trial t) {
  auto const next = group_rank((t.me() + 1) % t.n());
  int const before = (t.me() + t.n() - 1) % t.n();
  buffer in(t.in, t.data(t.me()));
  buffer out(t.out, t.dtype, t.part);
  auto const tagged = op_options().tag(t.seed);
  auto sent = t.at.group.send(in.view(), next, tagged);
  co_await t.at.group.recv(out.view(), group_rank(before), tagged);
  co_await std::move(sent);
  t.expect(out, t.data(before));
  t.expect(in, t.data(t.me()));
}

asio::awaitable<void> send_recv_unknown(trial t) {
  auto const next = group_rank((t.me() + 1) % t.n());
  int const before = (t.me() + t.n() - 1) % t.n();
  auto sent = t.at.group.send(buffer(t.in, t.data(t.me())).view(), next);
  auto const got = co_await t.at.group.recv(any_source);
  co_await std::move(sent);
  t.expect(buffer::read(got), t.data(before));
}

constexpr tried operations[] = {
    {"broadcast(t)", broadcast},
    {"broadcast(optional)", broadcast_unknown},
    {"all_gather(out, in)", all_gather},
    {"all_gather in place", all_gather_in_place},
    {"gather(out, in)", gather},
    {"scatter(out, in)", scatter},
    {"all_to_all(out, in)", all_to_all},
    {"all_to_all in place", all_to_all_in_place},
    {"all_gather_v", all_gather_v},
    {"gather_v", gather_v},
    {"scatter_v", scatter_v},
    {"scatter(optional)", scatter_unknown},
    {"all_to_all_v", all_to_all_v},
    {"send, recv(out)", send_recv},
    {"send, recv()", send_recv_unknown},
};

}  // namespace

std::span<tried const> movements() { return operations; }

}  // namespace hocket::conformance
