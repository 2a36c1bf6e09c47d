// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/log.hpp>
#include <stdexcept>
#include <string>
#include <vector>

using hocket::log_level;

TEST_CASE("only lines at or above the threshold reach the sink") {
  std::vector<std::string> lines;
  hocket::set_log_sink([&](log_level, std::string_view line) { lines.emplace_back(line); });
  auto const before = hocket::log_threshold();
  hocket::set_log_threshold(log_level::warning);
  hocket::log(log_level::info, "quiet");
  hocket::log(log_level::warning, "loud");
  hocket::set_log_threshold(log_level::off);
  hocket::log(log_level::error, "off");
  hocket::set_log_threshold(before);
  hocket::set_log_sink({});
  REQUIRE(lines.size() == 1);
  CHECK(lines[0] == "loud");
}

TEST_CASE("a sink that throws does not end the program") {
  hocket::set_log_sink([](log_level, std::string_view) { throw std::runtime_error("full disk"); });
  hocket::log(log_level::error, "line");
  hocket::set_log_sink({});
}
