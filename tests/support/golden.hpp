// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/json.hpp>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace hocket::test {

/// A file of tests/data. One that is missing or broken fails the test that asks for it.
inline boost::json::object golden(std::string const& name) {
  std::ifstream file(HOCKET_TEST_DATA "/" + name);
  if (!file) throw std::runtime_error("no test data: " HOCKET_TEST_DATA "/" + name);
  std::string const text(std::istreambuf_iterator<char>(file), {});
  return boost::json::parse(text).as_object();
}

}  // namespace hocket::test
