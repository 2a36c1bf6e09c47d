// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket schedule: what each rank of a pipeline does when, proved and drawn before a run.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <hocket/error.hpp>
#include <hocket/pipeline/checker.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/make_schedule.hpp>
#include <hocket/pipeline/prediction.hpp>
#include <hocket/pipeline/schedule_csv.hpp>
#include <memory>
#include <sstream>

#include "file_output.hpp"
#include "options.hpp"
#include "schedule_chart.hpp"
#include "schedule_svg.hpp"
#include "standard_output.hpp"

namespace hocket::tools {
namespace {

namespace po = boost::program_options;

po::options_description options() {
  po::options_description all("options", 100);
  auto add = all.add_options();
  auto const number = [] { return po::value<int>()->value_name("N"); };
  auto const text = [](char const* name) { return po::value<std::string>()->value_name(name); };
  add("stages", number(), "pipeline ranks");
  add("microbatches", number(), "parts of the batch");
  add("virtual", number(), "stages on each rank (default: the schedule's least)");
  add("check", po::bool_switch(), "say only whether it can be run; exit status 2 if not");
  add("svg", text("FILE"), "draw who does what when; - is standard output");
  add("csv", text("FILE"), "write it as PyTorch's pipelining does; - is standard output");
  add("csv-form", text("FORM"),
      "compute_comms (default): with sends and receives; compute_only: a column a step");
  add("costs", text("LIST"), "how long actions take, as in F=1,B=2,I=1,W=1,user=0,comm=0,last=1");
  add("user", text("NAMES"), "user-defined actions that the file may have, as in STEP,LOG");
  add("json", po::bool_switch(), "one JSON document on stdout");
  return all;
}

std::string help() {
  std::ostringstream text;
  text << "hocket schedule NAME --stages N --microbatches N [--virtual N] [--check]\n"
          "                [--svg FILE] [--csv FILE] [--json] …\n"
          "hocket schedule FILE.csv [--check] …      (- is standard input)\n\n"
          "Makes a pipeline schedule, or reads one in the text form of torch.distributed."
          "pipelining\n(2F0, 3SEND_F1), proves that it can be run, and foretells how long it "
          "takes, how much of\nthat the ranks wait (the bubble) and how many activations each "
          "stage keeps.\n\nschedules:";
  for (auto const name : schedule_names()) text << ' ' << name;
  text << "\n\n"
       << options()
       << "\nexamples:\n"
          "  $ hocket schedule 1f1b --stages 4 --microbatches 8 --json\n"
          "  {\"ok\":true,\"bubble\":0.2727272727272727,\"makespan\":33,"
          "\"peak_activations\":[4,3,2,1]}\n"
          "  $ hocket schedule zbv --stages 4 --microbatches 8 --svg zbv.svg\n"
          "  $ hocket schedule mine.csv --check\n";
  return text.str();
}

std::string read_file(std::string const& path) {
  bool const is_standard = path == "-";
  auto const failed = [&] {
    boost::system::error_code const code(errno, boost::system::system_category());
    throw error(code, fmt::format("{} cannot be read: {}", path, code.message()));
  };
  using owner = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;
  owner file(is_standard ? stdin : std::fopen(path.c_str(), "r"),
             is_standard ? [](std::FILE*) { return 0; } : std::fclose);
  if (!file) failed();
  std::string text;
  std::array<char, 65536> part;
  // One byte more than is allowed is enough to be refused, however long the file is.
  while (text.size() <= csv_bytes_max) {
    auto const got = std::fread(part.data(), 1, part.size(), file.get());
    text.append(part.data(), got);
    if (got < part.size()) break;
  }
  if (std::ferror(file.get()) != 0) failed();
  return text;
}

bool is_file(std::string const& source) {
  return source == "-" || source.ends_with(".csv") || source.find('/') != std::string::npos;
}

schedule read_schedule(std::string const& path, po::variables_map const& values) {
  std::vector<std::string> users;
  if (auto const names = given<std::string>(values, "user")) users = split_list(*names);
  try {
    auto plan = schedule_from_csv(read_file(path), path, users);
    auto const must_be = [&](char const* option, int found) {
      auto const asked = given<int>(values, option);
      if (asked && *asked != found)
        throw error(errc::invalid_argument, fmt::format("{} {}, not {}", found, option, *asked));
    };
    must_be("stages", plan.ranks());
    must_be("microbatches", plan.microbatches());
    must_be("virtual", (plan.stages() + plan.ranks() - 1) / plan.ranks());
    check(plan);
    return plan;
  } catch (error const& e) {
    if (e.code().category() != hocket_category()) throw;
    throw error(e.code(), fmt::format("{}: {}", path, e.what()));
  }
}

schedule schedule_of(std::string const& source, po::variables_map const& values) {
  auto const names = schedule_names();
  bool const is_known = std::ranges::find(names, source) != names.end();
  if (!is_known && is_file(source)) return read_schedule(source, values);
  if (!is_known)
    throw error(errc::invalid_argument,
                fmt::format("\"{}\" is not a schedule, and a file's name ends in .csv; the "
                            "schedules are {}",
                            source, fmt::join(names, ", ")));
  if (values.count("user") != 0) throw error(errc::invalid_argument, "--user belongs to a file");
  int const each = given<int>(values, "virtual").value_or(0);
  if (values.count("virtual") != 0 && each < 1)
    throw error(errc::invalid_argument, fmt::format("--virtual {} is below 1", each));
  return make_schedule(source, required<int>(values, "stages"),
                       required<int>(values, "microbatches"), each);
}

double& cost_named(action_costs& costs, std::string_view name) {
  if (name == "F") return costs.forward;
  if (name == "B") return costs.backward;
  if (name == "I") return costs.backward_input;
  if (name == "W") return costs.backward_weight;
  if (name == "user") return costs.user;
  if (name == "comm") return costs.communication;
  if (name == "last") return costs.last_microbatch;
  throw error(errc::invalid_argument,
              fmt::format("--costs: \"{}\" is none of F, B, I, W, user, comm, last", name));
}

action_costs costs_of(po::variables_map const& values) {
  action_costs costs;
  auto const list = given<std::string>(values, "costs");
  if (!list) return costs;
  for (auto const& part : split_list(*list)) {
    auto const equals = std::min(part.find('='), part.size());
    auto& cost = cost_named(costs, std::string_view(part).substr(0, equals));
    auto const* const begin = part.data() + std::min(equals + 1, part.size());
    auto const* const end = part.data() + part.size();
    auto const [stop, failure] = std::from_chars(begin, end, cost);
    if (failure != std::errc() || stop != end)
      throw error(errc::invalid_argument, fmt::format("--costs: \"{}\" has no number", part));
  }
  return costs;
}

csv_form form_of(po::variables_map const& values) {
  auto const form = given<std::string>(values, "csv-form").value_or("compute_comms");
  if (form == "compute_comms") return csv_form::compute_comms;
  if (form == "compute_only") return csv_form::compute_only;
  throw error(errc::invalid_argument,
              fmt::format("--csv-form {}: the forms are compute_comms and compute_only", form));
}

void print_json(prediction const& run) {
  // A whole number is written without a point.
  put(fmt::format("{{\"ok\":true,\"bubble\":{},\"makespan\":{},\"peak_activations\":[{}]}}\n",
                  run.bubble, run.makespan, fmt::join(run.peak_activations, ",")));
}

void print_verdict(schedule const& plan) {
  put(fmt::format("{} can be run: {} ranks, {} stages, {} microbatches, {} actions\n", plan.name(),
                  plan.ranks(), plan.stages(), plan.microbatches(), plan.size()));
}

// PyTorch writes a receive right behind the send it belongs to; a rank that waits there may have
// had other things to do.
void print_early_receives(schedule const& plan, prediction const& run, action_costs const& costs) {
  if (!plan.has_communication()) return;
  auto const late = predict(with_communication(without_communication(plan)), costs);
  if (late.makespan < run.makespan)
    put(
        fmt::format("receives hold their ranks before they are needed; moved to where they are, "
                    "makespan {}, bubble {:.2f} %\n",
                    short_number(late.makespan), late.bubble * 100));
}

void print_table(schedule const& plan, prediction const& run, action_costs const& costs) {
  constexpr int ranks_max = 64;
  put(fmt::format("{}: {} ranks, {} stages, {} microbatches, {} actions\n", plan.name(),
                  plan.ranks(), plan.stages(), plan.microbatches(), plan.size()));
  put(fmt::format("makespan {}, bubble {:.2f} %\n", short_number(run.makespan), run.bubble * 100));
  print_early_receives(plan, run, costs);
  put("\n");
  if (auto const chart = chart_text(plan, run); !chart.empty()) put(chart + "\n");
  for (int r = 0; r < std::min(plan.ranks(), ranks_max); ++r) {
    std::vector<int> peaks;
    for (int const s : plan.stages_of(r))
      peaks.push_back(run.peak_activations[static_cast<std::size_t>(s)]);
    put(fmt::format("  {:<24} busy {}, keeps up to {} activation{}\n", rank_text(plan, r),
                    short_number(run.busy[static_cast<std::size_t>(r)]), fmt::join(peaks, ", "),
                    peaks == std::vector{1} ? "" : "s"));
  }
  if (plan.ranks() > ranks_max) put(fmt::format("  … {} more\n", plan.ranks() - ranks_max));
}

// The one value that is no option's: behind --check too, which takes none.
std::string take_source(arguments& args) {
  auto at = args.begin();
  if (at != args.end() && *at == "--check") ++at;
  if (at == args.end() || at->starts_with("--"))
    throw error(errc::invalid_argument,
                fmt::format("the first value is a schedule or a file; the schedules are {}",
                            fmt::join(schedule_names(), ", ")));
  auto source = std::move(*at);
  args.erase(at);
  return source;
}

int run(arguments const& args) {
  auto rest = args;
  auto const source = take_source(rest);
  auto const values = parse(options(), rest);
  bool const json = values["json"].as<bool>();
  auto const svg = output_of("--svg", given<std::string>(values, "svg"));
  auto const csv = output_of("--csv", given<std::string>(values, "csv"));
  check_outputs(json, svg, csv);
  auto const form = form_of(values);
  auto const costs = costs_of(values);
  auto const plan = schedule_of(source, values);
  auto const foretold = predict(plan, costs);
  if (svg) svg->write(draw_schedule(plan, foretold));
  if (csv) csv->write(to_csv(plan, form));
  if (json) {
    print_json(foretold);
  } else if (svg || csv) {
    if (svg) svg->confirm();
    if (csv) csv->confirm();
  } else if (values["check"].as<bool>()) {
    print_verdict(plan);
  } else {
    print_table(plan, foretold, costs);
  }
  return 0;
}

}  // namespace

constinit command const schedule_command{
    "schedule", "what each rank of a pipeline does when, proved and drawn", help, run};

}  // namespace hocket::tools
