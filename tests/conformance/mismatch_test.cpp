// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The table of compared fields: for each operation every field that must agree, and every argument
// that may differ. One rank's call differs in one field; README.md has the same table for people.
#include <doctest/doctest.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "engine_under_test.hpp"
#include "outcome.hpp"
#include "trial.hpp"

using namespace hocket;
using namespace hocket::conformance;
namespace asio = boost::asio;

namespace {

/// What a call is made with; the fields of the table.
struct fields {
  fields() = default;
  hocket::dtype dtype = hocket::dtype::f32;
  std::int64_t rows = 2;
  bool turned = false;  ///< the same number of elements in another shape
  int root = 0;
  hocket::reduction reduction = hocket::reduction::sum;
  layout how = layout::balanced;
};

tensor zeros(fields const& f, std::int64_t rows) {
  if (f.turned) return tensor::zeros(f.dtype, {rows, 1, 6});
  return tensor::zeros(f.dtype, {rows, 6});
}
tensor part(process_group const&, fields const& f) { return zeros(f, f.rows); }
tensor whole(process_group const& g, fields const& f) { return zeros(f, f.rows * g.size()); }
split_plan plan(process_group const& g, fields const& f) {
  return make_split_plan(f.how, 2 * f.rows * g.size(), g.size(), 0);
}
tensor cut_part(process_group const&, fields const& f) { return zeros(f, 2 * f.rows); }
tensor cut_whole(process_group const& g, fields const& f) {
  return zeros(f, 2 * f.rows * g.size());
}
group_rank root(fields const& f) { return group_rank(f.root); }

using call = std::function<work<>(process_group const&, fields const&)>;
using G = process_group const&;
using F = fields const&;

struct row {
  row(std::string k, std::string compared, call c)
      : kind(std::move(k)), fields(std::move(compared)), start(std::move(c)) {}
  std::string kind;    ///< as errors spell it
  std::string fields;  ///< d dtype, c count, s shape, r root, o reduction, p plan, t type
  call start;
  [[nodiscard]] bool compares(char field) const { return fields.find(field) != fields.npos; }
};

std::vector<row> table() {
  std::vector<row> rows;
  rows.emplace_back("barrier", "", [](G g, F) { return g.barrier(); });
  rows.emplace_back("monitored_barrier", "", [](G g, F) { return g.monitored_barrier(); });
  rows.emplace_back("broadcast", "dcsr", [](G g, F f) { return g.broadcast(part(g, f), root(f)); });
  rows.emplace_back("all_gather", "dcs",
                    [](G g, F f) { return g.all_gather(whole(g, f), part(g, f)); });
  rows.emplace_back("all_gather", "dcsp", [](G g, F f) {
    return g.all_gather_v(cut_whole(g, f), cut_part(g, f), plan(g, f));
  });
  // Only the root sees the whole; without a plan the others know the number of elements alone.
  rows.emplace_back("gather", "dcr",
                    [](G g, F f) { return g.gather(whole(g, f), part(g, f), root(f)); });
  rows.emplace_back("gather", "dcspr", [](G g, F f) {
    return g.gather_v(cut_whole(g, f), cut_part(g, f), plan(g, f), root(f));
  });
  rows.emplace_back("scatter", "dcr",
                    [](G g, F f) { return g.scatter(part(g, f), whole(g, f), root(f)); });
  rows.emplace_back("scatter", "dcspr", [](G g, F f) {
    return g.scatter_v(cut_part(g, f), cut_whole(g, f), plan(g, f), root(f));
  });
  rows.emplace_back("reduce", "dcsro", [](G g, F f) {
    return g.reduce(part(g, f), part(g, f), f.reduction, root(f));
  });
  rows.emplace_back("all_reduce", "dcso",
                    [](G g, F f) { return g.all_reduce(part(g, f), f.reduction); });
  rows.emplace_back("reduce_scatter", "dcso", [](G g, F f) {
    return g.reduce_scatter(part(g, f), whole(g, f), f.reduction);
  });
  rows.emplace_back("reduce_scatter", "dcspo", [](G g, F f) {
    return g.reduce_scatter_v(cut_part(g, f), cut_whole(g, f), plan(g, f), f.reduction);
  });
  rows.emplace_back("all_to_all", "dcs",
                    [](G g, F f) { return g.all_to_all(whole(g, f), whole(g, f)); });
  return rows;
}

struct change {
  char field;
  char const* says;
  void (*apply)(fields&);
};
constexpr change changes[] = {
    {'d', "the dtypes differ", [](fields& f) { f.dtype = dtype::i32; }},
    {'c', "the shapes differ", [](fields& f) { f.rows = 3; }},
    {'s', "the shapes differ", [](fields& f) { f.turned = true; }},
    {'r', "the roots differ", [](fields& f) { f.root = 1; }},
    {'o', "the reductions differ", [](fields& f) { f.reduction = reduction::max; }},
    {'p', "the split plans differ", [](fields& f) { f.how = layout::zigzag; }},
};

// Everybody gets the mismatch that names both, and the next operation of the group works.
asio::awaitable<void> disagree(seat at, row r, change c, int odd) {
  auto const g = at.group;
  trial t(at, r.kind + ", rank " + std::to_string(odd) + " has another " + c.field);
  fields f;
  if (at.me() == odd) c.apply(f);
  auto const o = co_await outcome_of(r.start(g, f));
  if (!r.compares(c.field)) {
    if (o.code) t.fail("no false alarm", o.story);
    co_return;
  }
  std::string const mine = "rank " + std::to_string(odd) + " " + r.kind;
  if (o.code != errc::mismatch) t.fail("mismatch", o.code.message() + ": " + o.story);
  // A plan that differs cuts the shapes otherwise, too: the plan is named, or what follows from it.
  bool const told = o.tells(c.says) || (c.field == 'c' && o.tells("the split plans differ"));
  if (!told) t.fail(c.says, o.story);
  if (!o.tells(mine)) t.fail("the call of " + mine, o.story);
  if (o.story.find("mismatch_test.cpp:") == o.story.rfind("mismatch_test.cpp:"))
    t.fail("both call sites", o.story);
}

asio::awaitable<void> every_field(world w) {
  static auto const rows = table();
  auto const began = std::chrono::steady_clock::now();
  seat const at(w, "all", w.group());
  for (auto const& r : rows)
    for (auto const& c : changes) {
      int const n = at.n();
      for (int odd = 0; odd < n; odd += n - 1) {  // the first one, and the last
        auto trying = disagree(at, r, c, odd);
        co_await std::move(trying);
      }
    }
  co_await at.group.barrier();
  // The verdicts came by themselves: no deadline had to pass.
  CHECK(std::chrono::steady_clock::now() - began < hang);
}

// --- objects, whose types take the place of dtypes and shapes

struct request_v1 {
  std::string text;
  std::int64_t steps = 0;
};
template <class V>
void hocket_describe(V& v, request_v1& r) {
  v.version(1);
  v(r.text, "text");
  v(r.steps, "steps");
}
struct request_v2 {
  std::string text;
  std::int64_t steps = 0;
};
template <class V>
void hocket_describe(V& v, request_v2& r) {
  v.version(2);
  v(r.text, "text");
  v(r.steps, "steps");
}

asio::awaitable<void> object_types(world w) {
  auto const g = w.group();
  int const me = g.rank().value();
  int const n = g.size();
  bool const odd = me == n - 1;
  auto const told = [](outcome const& o, char const* kind) {
    CHECK(o.code == errc::mismatch);
    CHECK_MESSAGE(o.tells("the types of the objects differ"), o.story);
    CHECK_MESSAGE(o.tells(kind), o.story);
    CHECK_MESSAGE(o.story.find("mismatch_test.cpp:") != o.story.rfind("mismatch_test.cpp:"),
                  o.story);
  };
  request_v1 const one;
  request_v2 const two;
  std::vector<request_v1> const ones(static_cast<std::size_t>(n));
  std::vector<request_v2> const twos(static_cast<std::size_t>(n));
  group_rank const first(0);
  if (odd) {
    auto const a = co_await outcome_of(g.broadcast_object(std::optional(two), first));
    told(a, "broadcast_object");
    auto const b = co_await outcome_of(g.gather_objects(two, first));
    told(b, "gather_objects");
    auto const c = co_await outcome_of(g.scatter_objects(twos, first));
    told(c, "scatter_objects");
  } else {
    auto const a = co_await outcome_of(g.broadcast_object(std::optional(one), first));
    told(a, "broadcast_object");
    auto const b = co_await outcome_of(g.gather_objects(one, first));
    told(b, "gather_objects");
    auto const c = co_await outcome_of(g.scatter_objects(ones, first));
    told(c, "scatter_objects");
  }
  auto const root = group_rank(odd ? n - 1 : 0);
  auto const o = co_await outcome_of(g.broadcast_object(std::optional(one), root));
  CHECK(o.code == errc::mismatch);
  CHECK_MESSAGE(o.tells("the roots differ"), o.story);
  auto const again = co_await g.broadcast_object(std::optional(one), first);
  CHECK(again.steps == 0);
}

// A message and who takes it.
asio::awaitable<void> messages(world w) {
  auto const g = w.group();
  bool const sends = g.rank().value() == 0;
  std::vector<tensor> const wrong{tensor::zeros(dtype::i32, {6}), tensor::zeros(dtype::f32, {7})};
  auto const good = tensor::zeros(dtype::f32, {2, 3});
  for (auto const& out : wrong) {
    outcome o;
    if (sends) o = co_await outcome_of(g.send(good, group_rank(1)));
    if (!sends) o = co_await outcome_of(g.recv(out, group_rank(0)));
    CHECK(o.code == errc::mismatch);
    CHECK_MESSAGE(o.tells("send f32[2,3]"), o.story);
    CHECK_MESSAGE(o.tells("recv " + hocket::brief(out)), o.story);
  }
  if (sends) co_await g.send(good, group_rank(1));
  if (!sends) co_await g.recv(tensor::zeros(dtype::f32, {6}), group_rank(0));  // the count is equal
}

// --- what may differ

asio::awaitable<void> no_alarm(world w) {
  auto const g = w.group();
  int const n = g.size();
  int const me = g.rank().value();
  auto const first = group_rank(0);
  fields const f;
  // Absent tensors, and what those who do not have them pass.
  auto const nothing = me == 0 ? whole(g, f) : tensor();
  co_await g.gather(nothing, part(g, f), first);
  co_await g.scatter(part(g, f), nothing, first);
  auto const result = me == 0 ? part(g, f) : tensor::zeros(dtype::u8, {me});
  co_await g.reduce(result, part(g, f), reduction::sum, first);
  std::optional<tensor> x;
  if (me == 0) x = part(g, f);
  if (me == n - 1 && n > 1) x = tensor::zeros(dtype::u8, {77});
  auto const known = co_await g.broadcast(x, first);
  CHECK(known->dtype() == dtype::f32);
  // A rank that knows the shape among ranks that do not.
  if (me == n - 1) co_await g.broadcast(part(g, f), first);
  std::optional<tensor> perhaps(part(g, f));
  if (me != n - 1) perhaps = co_await g.broadcast(perhaps, first);
  // Layouts, own factors, own limits, own options.
  auto const turned = part(g, f).transpose(0, 1).clone().transpose(0, 1);
  auto const own = me % 2 == 0 ? turned : part(g, f);
  co_await g.all_reduce(own, premultiplied_sum(me));
  auto const mine = op_options().deadline(std::chrono::seconds(10 + me)).tag(std::uint64_t(me));
  co_await g.barrier(mine);
  // What the others of an object call pass; integers of another width.
  std::optional<std::string> text;
  if (me == 0) text = "chosen";
  auto const got = co_await g.broadcast_object(text, first);
  CHECK(got == "chosen");
  // Parts of any sizes: who sends whom how much is each pair's own matter.
  std::vector<std::int64_t> sent;
  std::vector<std::int64_t> taken;
  std::int64_t rows_sent = 0;
  std::int64_t rows_taken = 0;
  for (int r = 0; r < n; ++r) {
    sent.push_back((me + 2 * r) % 3);
    taken.push_back((r + 2 * me) % 3);
    rows_sent += sent.back();
    rows_taken += taken.back();
  }
  auto const to = make_split_plan(std::span<std::int64_t const>(sent), 0);
  auto const from = make_split_plan(std::span<std::int64_t const>(taken), 0);
  co_await g.all_to_all_v(zeros(f, rows_taken), from, zeros(f, rows_sent), to);
  co_await g.barrier();
}

}  // namespace

TEST_CASE("every field of the table that differs is named on all ranks, with both call sites") {
  for (int n : {2, 3, 5}) run(n, every_field);
  run_on_threads(3, every_field);
}
TEST_CASE("objects of other types or roots are named on all ranks, with both call sites") {
  for (int n : {2, 3, 5}) run_everywhere(n, object_types);
}
TEST_CASE("a message of another dtype or count than its receive is told to both") {
  run_everywhere(2, messages);
}
TEST_CASE("what may differ is no mismatch") {
  for (int n : rank_counts) run_everywhere(n, no_alarm);
}
