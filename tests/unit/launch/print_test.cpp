// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <array>
#include <cstdio>
#include <hocket/launch/print.hpp>
#include <hocket/log.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <memory>
#include <ranks.hpp>
#include <refusal.hpp>
#include <regex>
#include <string>
#include <vector>

using namespace hocket;
namespace asio = boost::asio;

namespace {

std::FILE* out = nullptr;  // of the program that runs

// What the call printed, by lines.
template <class Call>
std::vector<std::string> lines_of(Call call) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> const file(std::tmpfile(), std::fclose);
  out = file.get();
  call();
  std::rewind(file.get());
  std::vector<std::string> lines;
  std::array<char, 200> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), file.get()) != nullptr)
    lines.emplace_back(buffer.data());
  return lines;
}

asio::awaitable<void> talk(world w) {
  auto s = co_await initialize_model_parallel(w, w.size());
  print_rank_0(w, "first", out);
  print_rank_0(s, "state", out);
  print_per_rank("rank " + std::to_string(w.rank().value()), out);
  if (w.size() == 1) print_rank_0("alone", out);
  if (w.size() > 1)
    CHECK(test::is_refused(
        test::refusal([] { return print_rank_0("who?", out), 0; }, errc::ambiguous_rank)));
  co_await w.group().barrier();
}

asio::awaitable<void> before_and_after(world w) {
  print_rank_0(ParallelState(), "before", out);
  auto s = co_await initialize_model_parallel(w, w.size());
  co_await destroy_model_parallel(s);
  print_rank_0(s, "after", out);
  co_await w.group().barrier();
}

}  // namespace

TEST_CASE("before a state is made everybody prints, after its end its first rank") {
  auto const lines = lines_of([] { test::run_ranks(3, before_and_after); });
  CHECK(lines.size() == 4);
}

TEST_CASE("the program's log sink gets whole lines in order, whatever its threshold") {
  std::vector<std::string> lines;
  set_log_sink([&](log_level level, std::string_view line) {
    CHECK(level == log_level::info);
    lines.emplace_back(line);
  });
  print_rank_0("one");
  print_per_rank("two\nthree");
  set_log_sink({});
  CHECK(lines == std::vector<std::string>{"one", "two", "three"});
}

TEST_CASE(
    "print_rank_0 prints once among three ranks, print_per_rank on each, with time and level") {
  auto const lines = lines_of([] { test::run_ranks(3, talk); });
  CHECK(lines.size() == 5);
  std::regex const form(
      R"(\[\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} - INFO\] (first|state|rank [012])\n)");
  for (auto const& line : lines) CHECK(std::regex_match(line, form));
}

TEST_CASE("without a rank, and as the only one, print_rank_0 prints") {
  CHECK(lines_of([] { print_rank_0("nobody", out); }).size() == 1);
  CHECK(lines_of([] { test::run_ranks(1, talk); }).size() == 4);
}
