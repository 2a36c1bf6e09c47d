// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What the hocket command answers.
#pragma once

#include <doctest/doctest.h>

#include <boost/json.hpp>
#include <string>

#include "run_program.hpp"

namespace hocket::test {

inline program_result hocket_says(std::string const& args) {
  return run_program("'" HOCKET_TOOL "' " + args);
}

inline boost::json::value document(std::string const& args, int status = 0) {
  auto const result = hocket_says(args + " 2>/dev/null");
  CAPTURE(args);
  CAPTURE(result.output);
  CHECK(result.status == status);
  return boost::json::parse(result.output);  // throws unless it is one document and nothing else
}

inline std::string refused(std::string const& args) {
  auto const answer = document(args + " --json", 2);
  CHECK(answer.at("error").at("code") == "invalid_argument");
  return boost::json::value_to<std::string>(answer.at("error").at("message"));
}

}  // namespace hocket::test
