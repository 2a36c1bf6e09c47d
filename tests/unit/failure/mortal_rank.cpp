// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A rank of a job whose processes the tests of failure kill and stop.
// mortal_rank work: collectives without end; when they fail, goes on in the group without the rank
//   that is lost and says so.
// mortal_rank rebuild: the same, in the rebuilt world.
// mortal_rank once: one barrier and the end.
// mortal_rank fork: a child that was forked after the start uses the world; the parent goes on.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <cstdlib>
#include <hocket/error.hpp>
#include <hocket/group/world.hpp>
#include <hocket/launch/join.hpp>
#include <string>
#include <utility>
#include <vector>

using namespace hocket;
using namespace std::chrono_literals;
namespace asio = boost::asio;

namespace {

using work_of = asio::awaitable<void>;

template <class... Args>
void say(char const* format, Args... args) {
  if constexpr (sizeof...(args) == 0) {
    std::fputs(format, stdout);
  } else {
    std::printf(format, args...);
  }
  std::putchar('\n');
  std::fflush(stdout);
}

clock::duration op_limit() {
  char const* const ms = std::getenv("OP_LIMIT_MS");
  return std::chrono::milliseconds(ms == nullptr ? 20'000 : std::atoi(ms));
}

void expect(bool ok, char const* what) {
  if (ok) return;
  say("WRONG DATA: %s", what);
  std::_Exit(9);
}

work_of gather(process_group g, std::int64_t count, int round) {
  auto const me = g.rank().value();
  auto out = tensor::full(dtype::i32, {count * g.size()}, -1);
  auto const in = tensor::full(dtype::i32, {count}, round * 100 + me);
  co_await g.all_gather(out, in, op_options().deadline(op_limit()));
  for (int r = 0; r < g.size(); ++r) {
    expect(out.item<std::int32_t>(r * count) == round * 100 + r, "all_gather, first");
    expect(out.item<std::int32_t>((r + 1) * count - 1) == round * 100 + r, "all_gather, last");
  }
}

work_of reduce(process_group g, std::int64_t count, int round) {
  auto const t = tensor::full(dtype::f32, {count}, g.rank().value() + round);
  co_await g.all_reduce(t, reduction::sum, op_options().deadline(op_limit()));
  auto const n = g.size();
  auto const sum = static_cast<float>(n * (n - 1) / 2 + n * round);
  expect(t.item<float>(0) == sum && t.item<float>(count - 1) == sum, "all_reduce");
}

work_of pass_on(process_group g, std::int64_t count, int round) {
  auto const me = g.rank().value();
  auto const n = g.size();
  auto const t = tensor::full(dtype::i32, {count}, round * 10 + me);
  auto const out = tensor::full(dtype::i32, {count}, -1);
  auto received = g.recv(out, group_rank((me + n - 1) % n), op_options().deadline(op_limit()));
  auto sent = g.send(t, group_rank((me + 1) % n), op_options().deadline(op_limit()));
  co_await std::move(received);
  expect(out.item<std::int32_t>(count - 1) == round * 10 + (me + n - 1) % n, "recv");
  co_await std::move(sent);
}

work_of one_round(process_group g, int round) {
  switch (round % 5) {
    case 0:
      co_await g.barrier(op_options().deadline(op_limit()));
      break;
    case 1:
      co_await gather(g, 3, round);
      break;
    case 2:
      co_await gather(g, 300'001, round);
      break;
    case 3:
      co_await reduce(g, 200'003, round);
      break;
    default:
      co_await pass_on(g, 100'001, round);
      break;
  }
}

// "...: rank 2 (world rank 3) is gone" or "rank 2 is lost": the world's number.
int lost_rank(std::string const& story) {
  for (char const* const mark : {" is gone", " is lost", " is lost:"}) {
    auto const at = story.find(mark);
    if (at == std::string::npos) continue;
    auto const from = story.rfind("rank ", at);
    if (from == std::string::npos) continue;
    return std::atoi(story.c_str() + from + 5);
  }
  return -1;
}

work_of until_it_fails(process_group g, std::string& why, boost::system::error_code& code) {
  try {
    for (int round = 0;; ++round) co_await one_round(g, round);
  } catch (hocket::error const& e) {
    why = e.what();
    code = e.code();
  }
}

work_of work_on(world w, bool rebuilds) {
  int const n = w.size();
  std::vector<process_group> without;  // each of the ranks
  for (int r = 0; r < n; ++r) {
    std::vector<world_rank> others;
    for (int x = 0; x < n; ++x)
      if (x != r) others.emplace_back(x);
    if (w.rank().value() == r) {
      without.emplace_back();
    } else {
      auto made = make_group(w, rank_group(others));
      without.push_back(co_await std::move(made));
    }
  }
  say("ready %d", w.rank().value());
  std::string why;
  boost::system::error_code code;
  co_await until_it_fails(w.group(), why, code);
  int const lost = lost_rank(why);
  say("failed %s lost %d: %s", code.message().c_str(), lost, why.c_str());
  if (lost >= 0) w.group().revoke("rank " + std::to_string(lost) + " is lost");
  if (rebuilds) {
    auto rebuilt = w.group().rebuild(rebuild_options().deadline(2s));
    auto const next = co_await std::move(rebuilt);
    for (int round = 0; round < 10; ++round) co_await one_round(next, round);
    say("went on as %s", next.label().c_str());
  } else if (lost >= 0 && lost != w.rank().value()) {
    auto const g = without[static_cast<std::size_t>(lost)];
    for (int round = 0; round < 10; ++round) co_await one_round(g, round);
    say("went on as %s", g.label().c_str());
  }
}

// A forked child's use of the world is an error, and its end leaves the parent's connections.
work_of fork_after(world w) {
  auto const g = w.group();
  co_await one_round(g, 1);
  auto const child = ::fork();
  if (child == 0) {
    boost::system::error_code code;
    std::string story;
    try {
      g.barrier().get(2s);
    } catch (hocket::error const& e) {
      code = e.code();
      story = e.what();
    }
    say("child %s: %s", code.message().c_str(), story.c_str());
    w = {};
#ifdef __SANITIZE_ADDRESS__  // looks for leaks at the end, with threads that the child has not
    ::_exit(code ? 0 : 1);
#endif
    std::exit(code ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  for (int round = 0; round < 20; ++round) co_await one_round(g, round);
  say("parent goes on, child ended with %d", status);
}

work_of run(std::string mode) {
  auto const ex = co_await asio::this_coro::executor;
  auto joining = join(ex);
  auto const w = co_await std::move(joining);
  say("joined %d", w.rank().value());
  if (mode == "work") co_await work_on(w, false);
  if (mode == "rebuild") co_await work_on(w, true);
  if (mode == "once") co_await one_round(w.group(), 0);
  if (mode == "fork") co_await fork_after(w);
}

}  // namespace

int main(int argc, char** argv) {
  asio::io_context context(1);
  int status = 0;
  asio::co_spawn(context, run(argc > 1 ? argv[1] : "work"), [&](std::exception_ptr e) {
    if (!e) return;
    try {
      std::rethrow_exception(e);
    } catch (boost::system::system_error const& x) {
      say("ended %s: %s", x.code().message().c_str(), x.what());
    } catch (std::exception const& x) {
      say("ended by a foreign exception: %s", x.what());
      status = 3;
    }
  });
  context.run();
  say("bye");
  return status;
}
