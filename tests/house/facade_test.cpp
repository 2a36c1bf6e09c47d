// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The facade and the pipeline take their groups from ParallelState: they make none.
#include <doctest/doctest.h>

#include <set>
#include <string>

#include "source_tree.hpp"

TEST_CASE("only ParallelState's initialisation and a mesh's make groups in the parallel layer") {
  std::set<std::string> makers;
  for (auto const* const folder :
       {"include/hocket/parallel", "include/hocket/pipeline", "src/parallel", "src/pipeline"})
    for (auto const& file : house::read_folder(HOCKET_SOURCE_DIR, folder))
      for (auto const& line : file.lines)
        if (line.find("make_group(") != std::string::npos) makers.insert(file.path);
  CHECK(makers ==
        std::set<std::string>{"src/parallel/device_mesh.cpp", "src/parallel/initialize.cpp"});
}
