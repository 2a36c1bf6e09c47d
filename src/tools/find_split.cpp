// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket find-split: the shape of one rank's part of a video.
#include <fmt/format.h>

#include <boost/json.hpp>
#include <hocket/parallel/find_split.hpp>
#include <sstream>

#include "options.hpp"
#include "standard_output.hpp"

namespace hocket::tools {
namespace {

namespace po = boost::program_options;

po::options_description options() {
  po::options_description all("options", 100);
  auto add = all.add_options();
  add("shape", po::value<std::string>()->value_name("B,C,T,H,W"),
      "extents of the latent video: batch, channels, frames, height, width");
  add("cp", po::value<std::int64_t>()->value_name("N"), "ranks that share it");
  add("patch", po::value<std::string>()->value_name("T,H,W"),
      "extents of one patch (default 1,2,2)");
  add("view", po::value<std::int64_t>()->value_name("N"),
      "views that follow each other along the frames (default 1)");
  add("json", po::bool_switch(), "one JSON document on stdout");
  return all;
}

std::string help() {
  std::ostringstream text;
  text << "hocket find-split --shape B,C,T,H,W --cp N [--patch T,H,W] [--view N] [--json]\n\n"
          "How N context-parallel ranks share the tokens of a video: first along its frames, then\n"
          "along its height, never along its width. A split that is not exact is refused.\n\n"
       << options()
       << "\nexample: 6 frames on 4 ranks are split 2 ways along the frames, 2 along the height\n"
          "  $ hocket find-split --shape 1,16,6,44,80 --cp 4 --json\n"
          "  {\"t\":3,\"h\":22,\"w\":80,\"cp_t\":2,\"cp_h\":2}\n";
  return text.str();
}

int run(arguments const& args) {
  auto const values = parse(options(), args);
  auto const shape = shape5::from(number_list("shape", required<std::string>(values, "shape")));
  auto const cp = required<std::int64_t>(values, "cp");
  patch3 patch;
  if (auto const text = given<std::string>(values, "patch"))
    patch = patch3::from(number_list("patch", *text));
  auto const split = find_split(shape, cp, patch, given<std::int64_t>(values, "view").value_or(1));
  if (values["json"].as<bool>())
    put(boost::json::serialize(boost::json::object{{"t", split.t},
                                                   {"h", split.h},
                                                   {"w", split.w},
                                                   {"cp_t", split.cp_t},
                                                   {"cp_h", split.cp_h}}) +
        "\n");
  else
    put(
        fmt::format("each of {} ranks sees {} frames x {} rows x {} columns\n"
                    "{} ranks along the frames, {} along the height\n",
                    cp, split.t, split.h, split.w, split.cp_t, split.cp_h));
  return 0;
}

}  // namespace

constinit command const find_split_command{
    "find-split", "how context-parallel ranks share the tokens of a video", help, run};

}  // namespace hocket::tools
