// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The hocket command: finds the subcommand, runs it, and reports what it throws.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <exception>
#include <hocket/error.hpp>
#include <hocket/version.hpp>
#include <new>
#include <span>

#include "command.hpp"
#include "standard_output.hpp"

namespace {

using hocket::errc;
using hocket::error;
using hocket::tools::arguments;
using hocket::tools::command;

constexpr int failure_status = 2;

constexpr std::array<command const*, 6> commands{
    &hocket::tools::run_command,        &hocket::tools::topo_command,
    &hocket::tools::find_split_command, &hocket::tools::schedule_command,
    &hocket::tools::doctor_command,     &hocket::tools::bench_command,
};

std::string overview() {
  std::string text =
      "Hocket: awaitable collectives for C++20.\n\n"
      "usage: hocket COMMAND [options]\n\n";
  for (auto const* c : commands) text += fmt::format("  {:<12} {}\n", c->name, c->summary);
  return text +
         "\n  hocket help COMMAND   every option of a command, with an example\n"
         "  hocket --version      the version of the library\n\n"
         "With --json a command prints one JSON document on stdout, an error too; a failure exits "
         "with status 2.\n\n"
         "example: hocket topo --world 8 --tp 2 --pp 2\n";
}

command const& find(std::string_view name) {
  auto const found = std::ranges::find(commands, name, [](auto const* c) { return c->name; });
  if (found != commands.end()) return **found;
  std::string known;
  for (auto const* c : commands) known += fmt::format("{}{}", known.empty() ? "" : ", ", c->name);
  throw error(errc::invalid_argument,
              fmt::format("\"{}\" is not a command; the commands are {}", name, known));
}

bool is_help(std::string_view arg) { return arg == "--help" || arg == "-h" || arg == "help"; }

// What stands after "--" belongs to the program that a command starts.
std::span<std::string const> own(std::span<std::string const> args) {
  return {args.begin(), std::ranges::find(args, "--")};
}

void print(bool json, char const* key, std::string const& text) {
  using hocket::tools::put;
  put(json ? boost::json::serialize(boost::json::object{{key, text}}) : text);
  if (json || !text.ends_with('\n')) put("\n");
}

// A code of this library by its name, another one by its category.
std::string name_of(boost::system::error_code const& code) {
  return code.category() == hocket::hocket_category() ? code.message() : code.category().name();
}

int print_version(bool json) {
  print(json, "version", json ? hocket::version() : fmt::format("hocket {}", hocket::version()));
  return 0;
}

int dispatch(arguments args, bool json) {
  auto const is_json = [](auto const& arg) { return arg == "--json"; };
  if (!args.empty() && is_json(args.front())) std::ranges::rotate(args, args.begin() + 1);
  if (args.empty() || is_json(args.front()))
    throw error(errc::invalid_argument, "no command; hocket --help lists them");
  auto const first = args.front();
  arguments const rest(args.begin() + 1, args.end());
  auto const topic = std::ranges::find_if_not(rest, is_json);
  bool const is_version = first == "--version";
  if (is_version || is_help(first)) {
    auto const more = topic == rest.end() || is_version ? topic : topic + 1;
    if (auto const stray = std::find_if_not(more, rest.end(), is_json); stray != rest.end())
      throw error(errc::invalid_argument, fmt::format("\"{}\" is too much: hocket {}", *stray,
                                                      is_version ? "--version" : "help COMMAND"));
  }
  if (is_version) return print_version(json);
  if (is_help(first))
    return print(json, "help", topic == rest.end() ? overview() : find(*topic).help()), 0;
  auto const& chosen = find(first);
  if (std::ranges::any_of(own(rest), [](auto const& a) { return a == "--help" || a == "-h"; }))
    return print(json, "help", chosen.help()), 0;
  return chosen.run(rest);
}

// On standard output as JSON; on standard error if that is not wanted or cannot be written.
void report(bool json, std::string const& code, std::string const& story) {
  if (json) try {
      boost::json::object const what{{"code", code}, {"message", hocket::tools::as_utf8(story)}};
      hocket::tools::put(boost::json::serialize(boost::json::object{{"error", what}}) + "\n");
      hocket::tools::flush_output();
      return;
    } catch (hocket::tools::output_error const&) {
    }
  hocket::tools::complain(fmt::format("hocket: {}\n", story));
}

}  // namespace

int main(int argc, char** argv) {
  arguments const args(argv + std::min(argc, 1), argv + argc);
  bool const json = std::ranges::find(own(args), "--json") != own(args).end();
  try {
    hocket::tools::open_standard_streams();
    int const status = dispatch(args, json);
    hocket::tools::flush_output();
    return status;
  } catch (hocket::tools::output_error const& e) {
    report(false, name_of(e.code()), e.what());
  } catch (hocket::tools::start_error const& e) {
    report(json, name_of(e.code()), e.what());
    return e.exit_status();
  } catch (error const& e) {
    report(json, name_of(e.code()), e.what());
  } catch (std::bad_alloc const&) {
    report(json, make_error_code(errc::out_of_memory).message(), "out of memory");
  } catch (std::exception const& e) {
    report(json, "internal", e.what());
  }
  return failure_status;
}
