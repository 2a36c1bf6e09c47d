// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "command_line.hpp"

#include <fmt/format.h>

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <boost/program_options/positional_options.hpp>
#include <boost/program_options/variables_map.hpp>
#include <cstdint>
#include <hocket/error.hpp>
#include <sstream>
#include <string_view>
#include <vector>

#include "model_directory.hpp"

namespace embed {

namespace po = boost::program_options;

namespace {

constexpr char const* pairs_default = "10";
constexpr std::int64_t in_flight_max = 1024;

po::options_description visible_options() {
  po::options_description options("options");
  options.add_options()  //
      ("cp", po::value<std::int64_t>()->default_value(1)->value_name("N"),
       "ranks that share each sentence (context parallel)")  //
      ("pp", po::value<std::int64_t>()->default_value(1)->value_name("N"),
       "pipeline stages that share the model's layers; the program runs cp * pp ranks")  //
      ("in-flight", po::value<std::int64_t>()->value_name("N"),
       "sentences in the pipeline at a time (default: two for each stage, and two more)")  //
      ("model", po::value<std::string>()->value_name("DIR"), "directory of the model")     //
      ("tiny", po::bool_switch(),
       "use a tiny model with random weights, which needs no files; its vectors mean nothing")  //
      ("neighbours", po::value<std::int64_t>()->value_name("[K]"),
       "print the K closest pairs of sentences (default 10) instead of the vectors")  //
      ("help", "print this text");
  return options;
}

bool is_number(std::string const& text) {
  auto const digits = text.substr(text.starts_with('-') ? 1 : 0);
  return !digits.empty() && digits.find_first_not_of("0123456789") == std::string::npos;
}

// "--neighbours" as "--neighbours=10", and "--neighbours 5" as "--neighbours=5": the parser would
// take the FILE for the value that may be left out.
std::vector<std::string> arguments(int argc, char const* const* argv) {
  std::vector<std::string> args;
  for (int i = 1; i < argc; ++i) {
    args.emplace_back(std::string_view(argv[i]) == "-h" ? "--help" : argv[i]);
    if (args.back() != "--neighbours") continue;
    bool const has_value = i + 1 < argc && is_number(argv[i + 1]);
    args.back() += fmt::format("={}", has_value ? argv[++i] : pairs_default);
  }
  return args;
}

std::int64_t in_range(po::variables_map const& values, char const* name, std::int64_t least,
                      std::int64_t most) {
  auto const value = values[name].as<std::int64_t>();
  if (value < least || value > most)
    throw hocket::error(hocket::errc::invalid_argument,
                        fmt::format("--{} {}: must be {} to {}", name, value, least, most));
  return value;
}

po::variables_map parse(std::vector<std::string> const& args) {
  po::options_description all = visible_options();
  all.add_options()("file", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("file", -1);
  namespace style = po::command_line_style;
  po::variables_map values;
  po::store(po::command_line_parser(args)
                .options(all)
                .positional(positional)
                .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
                .run(),
            values);
  po::notify(values);
  return values;
}

}  // namespace

command_line parse_command_line(int argc, char const* const* argv) try {
  po::variables_map const values = parse(arguments(argc, argv));
  command_line line;
  line.help = values.count("help") != 0;
  if (line.help) return line;
  line.cp = static_cast<int>(in_range(values, "cp", 1, ranks_max));
  line.pp = static_cast<int>(in_range(values, "pp", 1, ranks_max));
  if (line.cp * line.pp > ranks_max)
    throw hocket::error(hocket::errc::invalid_argument,
                        fmt::format("--cp {} times --pp {} is {} ranks; at most {} are allowed",
                                    line.cp, line.pp, line.cp * line.pp, ranks_max));
  line.in_flight = 2 * static_cast<std::size_t>(line.pp) + 2;
  if (values.count("in-flight") != 0)
    line.in_flight = static_cast<std::size_t>(in_range(values, "in-flight", 1, in_flight_max));
  line.tiny = values["tiny"].as<bool>();
  if (values.count("model") != 0) {
    line.model = values["model"].as<std::string>();
    if (line.model.empty())
      throw hocket::error(hocket::errc::invalid_argument, "--model: the directory's name is empty");
  }
  if (line.tiny && !line.model.empty())
    throw hocket::error(
        hocket::errc::invalid_argument,
        fmt::format("--tiny and --model {}: one or the other", line.model.string()));
  if (values.count("neighbours") != 0)
    line.neighbours =
        static_cast<std::size_t>(in_range(values, "neighbours", 1, std::int64_t{1} << 24));
  auto const files = values.count("file") != 0 ? values["file"].as<std::vector<std::string>>()
                                               : std::vector<std::string>();
  if (files.size() != 1)
    throw hocket::error(
        hocket::errc::invalid_argument,
        fmt::format("one FILE is needed (- is standard input), not {}", files.size()));
  line.file = files.front();
  if (line.file.empty())
    throw hocket::error(hocket::errc::invalid_argument, "FILE: its name is empty");
  if (line.file.starts_with('-') && line.file != "-")
    throw hocket::error(hocket::errc::invalid_argument,
                        fmt::format("{0} is no option; a FILE of that name is ./{0}", line.file));
  return line;
} catch (po::error const& e) {
  throw hocket::error(hocket::errc::invalid_argument, e.what());
}

std::string help_text() {
  std::ostringstream options;
  options << visible_options();
  return "usage: hocket-embed [options] FILE\n\n"
         "Sentence embeddings on pipeline x context parallel ranks: all in this process, or, "
         "under\n"
         "hocket run and other launchers of several processes, one rank a process. Reads FILE (- "
         "is\n"
         "standard input), one sentence a line, and prints a line of JSON for each, in order:\n"
         "{\"text\":…,\"embedding\":[…]}. An empty line is a sentence, too. What each rank did "
         "with\n"
         "its time goes to stderr.\n\n" +
         options.str() +
         "\nThe model is all-MiniLM-L6-v2, which get_model.sh (beside this program's source)\n"
         "fetches. It is looked for in $HOCKET_EMBED_MODEL, else in\n  " +
         model_directory().string() +
         "\n\nexit status: 0, or 2 after an error, which is told on stderr; SIGINT and SIGTERM "
         "end\n"
         "the program between two lines of its output\n"
         "examples: hocket-embed --cp 2 --pp 2 --neighbours demo.txt\n"
         "          hocket run -n 4 -- hocket-embed --cp 2 --pp 2 --neighbours demo.txt\n";
}

}  // namespace embed
