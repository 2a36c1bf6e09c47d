// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "house.hpp"

#include <doctest/doctest.h>

#include "temporary_tree.hpp"

namespace {

std::string const header =
    "// SPDX-License-Identifier: Apache-2.0\n// SPDX-FileCopyrightText: The Hocket authors\n";

}  // namespace

TEST_CASE("the top level holds only what the layout lists") {
  for (auto const& line : house::check_top_level(HOCKET_SOURCE_DIR)) FAIL_CHECK(line);
}

TEST_CASE("every source has the licence header, fits the limits and names no machine") {
  for (auto const& line : house::check_text(HOCKET_SOURCE_DIR)) FAIL_CHECK(line);
}

TEST_CASE("planted faults in files are found") {
  house::temporary_tree tree;
  tree.plant("notes.txt", "stray\n");
  tree.plant("build-old/x.cpp", "ignored\n");
  tree.plant("src/good.cpp", header + "// 99 caf\xc3\xa9 " + std::string(89, '.') + "\n");
  tree.plant("src/bare.cpp", "int x;\n");
  tree.plant(
      "src/long.cpp", header + [] {
        std::string text;
        for (int i = 0; i < 499; ++i) text += "//\n";
        return text;
      }());
  tree.plant("src/wide.cpp", header + std::string(101, '/') + "\n");
  tree.plant("src/later.cpp", header + "// TO" + "DO: more\n");
  tree.plant("src/here.cpp", header + "// see /ho" + "me/me\n");
  tree.plant("tests/run.sh", "#!/bin/bash\n# " + header.substr(3, 36) + "\n");
  auto const found = house::check_text(tree.root());
  CHECK(house::mentions(found, "src/bare.cpp:1", "licence header"));
  CHECK(house::mentions(found, "src/long.cpp:501", "501 lines"));
  CHECK(house::mentions(found, "src/wide.cpp:3", "101 columns"));
  CHECK(house::mentions(found, "src/later.cpp:3", "says"));
  CHECK(house::mentions(found, "src/here.cpp:3", "says"));
  CHECK(house::mentions(found, "tests/run.sh:1", "without run bits"));
  CHECK(house::mentions(found, "tests/run.sh:2", "licence header"));
  CHECK_FALSE(house::mentions(found, "src/good.cpp", ""));
  CHECK(found.size() == 7);
  CHECK(house::check_top_level(tree.root()) ==
        house::findings{"notes.txt: does not belong at the top level"});
}
