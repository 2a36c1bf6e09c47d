// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "layers.hpp"

#include <doctest/doctest.h>

#include "temporary_tree.hpp"

namespace {

struct violation {
  char const* path;
  char const* line;
  char const* why;
};

// One planted fault for each rule.
constexpr violation violations[] = {
    {"include/hocket/topology/a.hpp", "#include <hocket/tensor/t.hpp>", "may not include tensor"},
    {"include/hocket/topology/b.hpp", "#include <boost/asio/post.hpp>", "may not include Asio"},
    {"include/hocket/tensor/c.hpp", "#include <hocket/detail/asio.hpp>", "may not include Asio"},
    {"include/hocket/tensor/d.hpp", "#include <hocket/topology/a.hpp>", "may not include topology"},
    {"include/hocket/async/e.hpp", "#  include <hocket/group/g.hpp>", "may not include group"},
    {"include/hocket/async/f.hpp", "#include <boost/asio.hpp>", "parts of Asio"},
    {"include/hocket/async/g.hpp", "#define BOOST_ASIO_NO_X", "configure the user's Asio"},
    {"include/hocket/async/h.hpp", "#include \"async/private.hpp\"", "public header includes"},
    {"include/hocket/group/i.hpp", "#include <hocket/parallel/p.hpp>", "may not include parallel"},
    {"include/hocket/parallel/j.hpp", "#include <cuda_runtime.h>", "belongs to cuda/"},
    {"include/hocket/parallel/k.hpp", "#include <hocket/hocket.hpp>", "may not include umbrella"},
    {"include/hocket/trace/l.hpp", "#include <hocket/async/e.hpp>", "may not include async"},
    {"include/hocket/detail/m.hpp", "#include <hocket/async/e.hpp>", "may not include async"},
    {"include/hocket/detail/unused.hpp", "", "move it to src/"},
    {"include/hocket/oddity/n.hpp", "", "not in the layer table"},
    {"src/group/o.cpp", "#include \"engine/local/engine.hpp\"", "may not include engine/local"},
    {"src/algorithm/p.cpp", "#include <hocket/async/e.hpp>", "may not include async"},
    {"src/io/q.cpp", "#include <hocket/group/g.hpp>", "may not include group"},
    {"src/io/r.cpp", "#include \"../group/g.hpp\"", "not by .."},
    {"src/engine/local/s.cpp", "#include \"engine/host/t.hpp\"", "may not include engine/host"},
    {"src/engine/host/t.cpp", "#include \"cuda/table.hpp\"", "may not include cuda"},
    {"src/engine/host/u.cpp", "#include <nccl.h>", "belongs to cuda/"},
    {"src/pipeline/v.cpp", "#include \"engine/local/engine.hpp\"", "may not include engine/local"},
    {"src/parallel/w.cpp", "#include <hocket/launch/join.hpp>", "may not include launch"},
    {"src/launch/x.cpp", "#include \"tools/command.hpp\"", "may not include tools"},
    {"src/cuda/y.cu", "#include <boost/asio/post.hpp>", "a .cu file may not include Asio"},
};

}  // namespace

TEST_CASE("the includes of this repository follow the layer table") {
  auto const found = house::check_layers(HOCKET_SOURCE_DIR);
  for (auto const& line : found) FAIL_CHECK(line);
  CHECK(house::read_folder(HOCKET_SOURCE_DIR, "include").size() > 3);
}

TEST_CASE("each planted violation of the layer table is found, and nothing else") {
  house::temporary_tree tree;
  tree.plant("include/hocket/detail/asio.hpp", "#include <boost/asio/post.hpp>\n");
  for (auto const& v : violations) tree.plant(v.path, v.line);
  auto const found = house::check_layers(tree.root());
  for (auto const& v : violations) {
    CAPTURE(v.path);
    CHECK(house::mentions(found, v.path, v.why));
  }
  std::string all;
  for (auto const& line : found) all += line + "\n";
  INFO(all);
  CHECK(found.size() == std::size(violations) + 1);  // detail/m.hpp breaks two rules
}

TEST_CASE("what the layer table allows passes") {
  house::temporary_tree tree;
  tree.plant("include/hocket/hocket.hpp", "#include <hocket/launch/join.hpp>\n");
  tree.plant("include/hocket/detail/erase.hpp", "#include <hocket/error.hpp>\n");
  tree.plant("include/hocket/error.hpp", "#include <boost/system/error_code.hpp>\n");
  tree.plant("include/hocket/group/group.hpp", "#include <hocket/detail/erase.hpp>\n");
  tree.plant("src/engine/local/local_world.cpp",
             "#include <hocket/group/local_world.hpp>\n#include \"cuda/table.hpp\"\n"
             "#include \"trace/ring.hpp\"\n#include \"mailbox.hpp\"\n"
             "#include \"algorithm/x.hpp\"\n");
  tree.plant("src/engine/local/mailbox.hpp", "#include <boost/asio/post.hpp>\n");
  tree.plant("src/engine/nccl/lane.cpp", "#include <nccl.h>\n#include \"cuda/table.hpp\"\n");
  tree.plant("src/parallel/state.cpp", "#include <hocket/pipeline/pp_scheduler.hpp>\n");
  tree.plant("src/launch/join.cpp", "#include \"engine/host/factory.hpp\"\n");
  tree.plant("src/tools/main.cpp", "#include <hocket/hocket.hpp>\n");
  for (auto const& line : house::check_layers(tree.root())) FAIL_CHECK(line);
}
