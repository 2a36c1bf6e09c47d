// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "readme.hpp"

#include <doctest/doctest.h>

#include "temporary_tree.hpp"

namespace {

std::string block(std::string const& origin, std::string const& code) {
  return origin + "\n```cpp\n" + code + "```\n\n";
}

}  // namespace

TEST_CASE("the code in README.md is the code of the examples") {
  for (auto const& line : house::check_readme(HOCKET_SOURCE_DIR)) FAIL_CHECK(line);
}

TEST_CASE("README code that left its example is found") {
  house::temporary_tree tree;
  tree.plant("examples/a.cpp",
             "int x;\n  // [main]\n  int f() {\n    return 1;\n  }\n  // [main]\n");
  std::string const from = "<!-- from: examples/a.cpp main -->";
  tree.plant("README.md", block(from, "int f() {\n  return 1;\n}\n"));
  CHECK(house::check_readme(tree.root()).empty());

  tree.plant("README.md", block(from, "int f() {\n  return 2;\n}\n") +
                              block("<!-- from: examples/gone.cpp main -->", "int y;\n") +
                              block("<!-- from: examples/a.cpp other -->", "int y;\n") +
                              block("", "int y;\n"));
  auto const found = house::check_readme(tree.root());
  CHECK(found.size() == 4);
  CHECK(house::mentions(found, "README.md:2", "'  return 2;', the example '  return 1;'"));
  CHECK(house::mentions(found, "README.md", "examples/gone.cpp does not exist"));
  CHECK(house::mentions(found, "README.md", "no two lines '// [other]'"));
  CHECK(house::mentions(found, "README.md", "code without"));
}
