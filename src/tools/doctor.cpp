// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket doctor: what this machine permits, what Hocket makes of it, and why.
#include <fmt/format.h>
#include <sys/utsname.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <hocket/version.hpp>
#include <span>

#include "finding.hpp"
#include "options.hpp"
#include "standard_output.hpp"

namespace hocket::tools {
namespace {

namespace po = boost::program_options;
namespace json = boost::json;

struct section {
  char const* key;
  char const* title;
  std::vector<finding> findings;
};

constexpr int missing_status = 1;

std::string help() {
  return "hocket doctor [--json]\n\n"
         "Says what this machine permits this user, what Hocket chooses here, and why: io_uring,\n"
         "reading the memory of a peer (tried between two processes that it starts), limits, "
         "cores,\n"
         "libraries of GPUs, the poller, how bytes move inside a host and between hosts, its "
         "threads,\n"
         "and the variables that it heeds. Run it as the ranks run, to see what they see: in the\n"
         "same container, with the same limits and variables.\n\n"
         "  --json   one JSON document on stdout: an object a section, an object a finding\n\n"
         "The exit status is 0, or 1 if something is missing that Hocket needs: its line says\n"
         "MISSING, and its key stands in the document's \"missing\".\n"
         "\nexample: what a rank sees\n"
         "  $ hocket run -n 1 -- hocket doctor\n";
}

std::vector<section> examine() {
  std::vector<section> all;
  all.push_back({"permitted", "What is permitted", examine_permissions()});
  auto const& permitted = all.front().findings;
  auto const cma = std::ranges::find(permitted, "cma", &finding::key);
  bool const can_read_peers = cma->facts.at("usable").as_bool();
  all.push_back({"machine", "What is there", examine_machine()});
  all.push_back({"chosen", "What is chosen", examine_choices(can_read_peers)});
  all.push_back({"threads", "Threads of the library", examine_threads()});
  all.push_back({"environment", "Variables", examine_environment()});
  return all;
}

std::string kernel() {
  utsname name{};
  ::uname(&name);
  return fmt::format("{} {}", name.sysname, name.release);
}

// Values of variables may be any bytes.
json::value clean(json::value const& v) {
  if (!v.is_string()) return v;
  return json::value(as_utf8(v.as_string()));
}

json::object document(std::span<section const> all) {
  json::object doc{{"version", version()}, {"kernel", kernel()}};
  json::array missing;
  for (auto const& s : all) {
    json::object findings;
    for (auto const& f : s.findings) {
      json::object facts;
      for (auto const& [key, value] : f.facts) facts[key] = clean(value);
      findings[as_utf8(f.key)] = std::move(facts);
      if (f.is_missing) missing.emplace_back(f.key);
    }
    doc[s.key] = std::move(findings);
  }
  doc["missing"] = std::move(missing);
  return doc;
}

std::string prose(std::span<section const> all) {
  auto text = fmt::format("Hocket {} on {}\n", version(), kernel());
  for (auto const& s : all) {
    text += fmt::format("\n{}\n", s.title);
    std::size_t width = 0;
    for (auto const& f : s.findings) width = std::max(width, f.label.size());
    for (auto const& f : s.findings) text += fmt::format("  {:<{}}  {}\n", f.label, width, f.text);
  }
  return text;
}

int run(arguments const& args) {
  po::options_description options("options");
  options.add_options()("json", po::bool_switch(), "one JSON document");
  auto const values = parse(options, args);
  auto const all = examine();
  bool const misses = std::ranges::any_of(
      all, [](section const& s) { return std::ranges::any_of(s.findings, &finding::is_missing); });
  if (values["json"].as<bool>())
    put(json::serialize(document(all)) + "\n");
  else
    put(prose(all) +
        (misses ? "\nSomething is MISSING that Hocket needs.\n" : "\nHocket works here.\n"));
  return misses ? missing_status : 0;
}

}  // namespace

constinit command const doctor_command{"doctor", "what is permitted here, what is chosen, and why",
                                       help, run};

}  // namespace hocket::tools
