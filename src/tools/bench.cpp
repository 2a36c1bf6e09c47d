// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket bench: how long an operation takes, and whether its result is right.
#include "bench.hpp"

#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <hocket/async/run.hpp>
#include <hocket/error.hpp>
#include <hocket/group/local_world.hpp>
#include <hocket/launch/join.hpp>
#include <sstream>
#include <utility>

#include "base/unique_fd.hpp"
#include "options.hpp"
#include "standard_output.hpp"
#include "verdict.hpp"

namespace hocket::tools {
namespace {

namespace asio = boost::asio;
namespace po = boost::program_options;
using detail::unique_fd;

constexpr std::int64_t ranks_max = 64;
constexpr std::int64_t bytes_max = std::int64_t{16} << 30;
constexpr std::array<std::string_view, 3> engines{"local", "host-shm", "host-tcp"};
// Set for the processes that are the ranks.
constexpr char const* rank_variable = "HOCKET_BENCH_RANK";

po::options_description options() {
  po::options_description all("options", 100);
  auto add = all.add_options();
  add("ranks", po::value<std::int64_t>()->value_name("N"), "how many (default 2)");
  add("engine", po::value<std::string>()->value_name("NAME"),
      "local, host-shm or host-tcp (default host-shm)");
  add("bytes", po::value<std::string>()->value_name("FIRST[:LAST[:xF]]"),
      "sizes, each F times the one before (default 8:64Mi:x8); Ki, Mi, Gi are binary");
  add("seconds", po::value<double>()->value_name("S"), "for each size and placement (default 0.2)");
  add("sleep", po::bool_switch(),
      "ranks sleep in io_context::run() while they wait, not in hocket::run()");
  add("explain", po::bool_switch(), "say which way the bytes of each size go");
  add("json", po::bool_switch(), "one JSON document on stdout");
  return all;
}

std::string list_of(auto const& names) {
  std::string all;
  for (auto const& name : names) all += fmt::format("{}{}", all.empty() ? "" : ", ", name);
  return all;
}

std::string help() {
  std::ostringstream text;
  text << "hocket bench OP [--ranks N] [--engine NAME] [--bytes FIRST:LAST:xF] [--seconds S]\n"
          "             [--sleep] [--explain] [--json]\n\n"
          "Measures OP between N ranks on this host and checks its result. OP is one of\n"
       << "all_gather, all_reduce, reduce, reduce_scatter, broadcast, all_to_all, send_recv,\n"
          "gather, scatter, barrier, broadcast_object.\n\n"
       << options()
       << "\nEngines: local runs all ranks in this process. host-shm starts a process for each, "
          "which\nread one another's memory. host-tcp starts them too; all bytes go through TCP "
          "sockets of\nthe loopback interface.\n\n"
          "Columns are those of nccl-tests: bytes of the larger buffer (of all_gather, gather,\n"
          "scatter, reduce_scatter and all_to_all the whole, rounded up to equal parts), time of "
          "one\ncall through co_await in microseconds (mean of the ranks), algbw = bytes / time "
          "in GB/s,\nbusbw = what one rank's link carries, wrong = elements that differ from what "
          "f32 data\nf(rank, index) makes of them, on all ranks together. send_recv sends around "
          "a ring. Roots\nare rank 0. \"-\": the operation has no such placement.\n"
          "JSON: [{\"op\",\"engine\",\"ranks\",\"bytes\",\"time_us\",\"algbw\",\"busbw\",\"wrong\","
          "\"in_place\"}],\nwith --explain also \"way\". The exit status is 1 if anything is "
          "wrong.\n"
          "\nexample: two processes\n"
          "  $ hocket bench all_reduce --ranks 2 --bytes 1Mi:16Mi:x4 --explain\n";
  return text.str();
}

std::int64_t byte_number(std::string_view all, std::string_view text) {
  std::int64_t n = 0;
  auto const [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
  std::string_view const unit(end, text.data() + text.size());
  int const shift = unit == "Ki" ? 10 : unit == "Mi" ? 20 : unit == "Gi" ? 30 : 0;
  bool const is_unit = unit.empty() || shift != 0;
  if (code != std::errc() || !is_unit || n < 1 || n > (bytes_max >> shift))
    throw error(errc::invalid_argument,
                fmt::format("--bytes {}: \"{}\" is not a number of bytes in 1..16Gi", all, text));
  return n << shift;
}

// "8:64Mi:x8" as 8, 64, 512 ...
std::vector<std::int64_t> byte_range(std::string const& text) {
  std::vector<std::string_view> parts;
  std::string_view rest = text;
  for (;;) {
    auto const colon = rest.find(':');
    parts.push_back(rest.substr(0, colon));
    if (colon == std::string_view::npos) break;
    rest.remove_prefix(colon + 1);
  }
  if (parts.size() > 3)
    throw error(errc::invalid_argument,
                fmt::format("--bytes {} has more than FIRST:LAST:xF", text));
  auto const first = byte_number(text, parts[0]);
  auto const last = parts.size() > 1 ? byte_number(text, parts[1]) : first;
  std::int64_t factor = 8;
  if (parts.size() == 3) {
    if (!parts[2].starts_with('x'))
      throw error(errc::invalid_argument,
                  fmt::format("--bytes {}: the step is xF, as in 8:64Mi:x8", text));
    factor = byte_number(text, parts[2].substr(1));
  }
  if (last < first || factor < 2)
    throw error(errc::invalid_argument, fmt::format("--bytes {}: from {} to {} in steps of x{}",
                                                    text, first, last, factor));
  std::vector<std::int64_t> all;
  for (auto n = first; n <= last; n *= factor) all.push_back(n);
  return all;
}

bench_plan read(arguments args) {
  auto const ops = bench_ops();
  if (args.empty() || args.front().starts_with('-'))
    throw error(errc::invalid_argument,
                fmt::format("the operation comes first: one of {}", list_of(ops)));
  bench_plan plan;
  plan.op = args.front();
  if (std::ranges::find(ops, plan.op) == ops.end())
    throw error(errc::invalid_argument,
                fmt::format("\"{}\" cannot be measured; there are {}", plan.op, list_of(ops)));
  args.erase(args.begin());
  auto const values = parse(options(), args);
  auto const ranks = given<std::int64_t>(values, "ranks").value_or(2);
  int const least = plan.op == "send_recv" ? 2 : 1;
  if (ranks < least || ranks > ranks_max)
    throw error(errc::invalid_argument,
                fmt::format("--ranks {} is not in {}..{}", ranks, least, ranks_max));
  plan.ranks = static_cast<int>(ranks);
  plan.engine = given<std::string>(values, "engine").value_or("host-shm");
  if (std::ranges::find(engines, plan.engine) == engines.end())
    throw error(errc::invalid_argument,
                fmt::format("--engine {}: there are {}", plan.engine, list_of(engines)));
  plan.bytes = byte_range(given<std::string>(values, "bytes").value_or("8:64Mi:x8"));
  if (plan.op == "barrier") plan.bytes.resize(1);
  plan.seconds = given<double>(values, "seconds").value_or(plan.seconds);
  if (!(plan.seconds > 0 && plan.seconds <= 3600))
    throw error(errc::invalid_argument,
                fmt::format("--seconds {} is not above 0 and up to 3600", plan.seconds));
  plan.sleeps = values["sleep"].as<bool>();
  plan.explain = values["explain"].as<bool>();
  plan.json = values["json"].as<bool>();
  return plan;
}

int report(bench_plan const& plan, std::vector<bench_row> const& rows) {
  print_rows(plan, rows);
  return std::ranges::any_of(rows, [](auto const& row) { return row.wrong != 0; }) ? 1 : 0;
}

void run_context(bench_plan const& plan, asio::io_context& ctx) {
  if (plan.sleeps) {
    ctx.run();
  } else {
    hocket::run(ctx);
  }
}

int run_local(bench_plan const& plan) {
  asio::io_context ctx(1);
  std::vector<bench_row> rows;
  local_world ranks(ctx.get_executor(), plan.ranks);
  ranks.spawn([&](world w) -> asio::awaitable<void> {
    auto mine = co_await measure(w.group(), plan);
    if (w.rank().value() == 0) rows = std::move(mine);
  });
  run_context(plan, ctx);
  ranks.rethrow();
  return report(plan, rows);
}

asio::awaitable<std::vector<bench_row>> measure_as_rank(asio::any_io_executor ex,
                                                        bench_plan const& plan) {
  auto options = launch_options::from_environment();
  options.engine(engine_choice::host);
  auto joining = join(ex, options);
  auto const w = co_await std::move(joining);
  co_return co_await measure(w.group(), plan);
}

int run_as_rank(bench_plan const& plan) {
  asio::io_context ctx(1);
  std::vector<bench_row> rows;
  std::exception_ptr failure;
  asio::co_spawn(ctx, measure_as_rank(ctx.get_executor(), plan),
                 [&](std::exception_ptr e, std::vector<bench_row> all) {
                   failure = e;
                   rows = std::move(all);
                 });
  run_context(plan, ctx);
  try {
    if (failure) std::rethrow_exception(failure);
  } catch (std::exception const& e) {  // standard output is rank 0's
    complain(fmt::format("hocket: {}\n", e.what()));
    return 2;
  }
  return rows.empty() ? 0 : report(plan, rows);
}

void set_for_ranks(bench_plan const& plan) {
  ::setenv(rank_variable, "1", 1);
  if (plan.engine != "host-tcp") return;
  ::setenv("HOCKET_HOST_LISTEN", "127.0.0.1:0", 1);
  ::setenv("HOCKET_HOST_READ", "off", 1);
}

// The ranks are this program again, under `hocket run`. Their output goes through a pipe: what a
// terminal is shown has labels.
int run_ranks(bench_plan const& plan, arguments const& args) {
  arguments words{"hocket",         "run",  "-n", std::to_string(plan.ranks), "--",
                  "/proc/self/exe", "bench"};
  words.insert(words.end(), args.begin(), args.end());
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0)
    throw error(boost::system::error_code(errno, boost::system::system_category()),
                "no pipe for the output of the ranks");
  unique_fd const from(ends[0]);
  unique_fd to(ends[1]);
  auto const pid = ::fork();
  if (pid < 0)
    throw error(boost::system::error_code(errno, boost::system::system_category()),
                "no process for the launcher of the ranks");
  if (pid == 0) {
    set_for_ranks(plan);
    ::dup2(to.get(), STDOUT_FILENO);
    ::execv("/proc/self/exe", argv.data());
    ::_exit(127);
  }
  to.reset();
  std::array<char, 4096> bytes{};
  for (;;) {
    auto const n = ::read(from.get(), bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) break;
    put({bytes.data(), static_cast<std::size_t>(n)});
  }
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  int const ended = shell_status(status);
  if (ended > 1)
    throw error(errc::peer_failed,
                fmt::format("the ranks ended with status {}; why is on standard error", ended));
  return ended;
}

int run(arguments const& args) {
  auto const plan = read(args);
  if (plan.engine == "local") return run_local(plan);
  if (std::getenv(rank_variable) != nullptr) return run_as_rank(plan);
  return run_ranks(plan, args);
}

}  // namespace

constinit command const bench_command{
    "bench", "how long an operation takes between ranks on this host", help, run};

}  // namespace hocket::tools
