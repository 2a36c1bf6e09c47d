// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options/parsers.hpp>
#include <charconv>
#include <hocket/error.hpp>

namespace hocket::tools {

namespace po = boost::program_options;

po::variables_map parse(po::options_description const& options, arguments const& args,
                        dashes allowed) {
  try {
    namespace style = po::command_line_style;
    int accepted = style::allow_long | style::long_allow_adjacent | style::long_allow_next;
    if (allowed == dashes::one_or_two)
      accepted |= style::allow_short | style::allow_dash_for_short | style::short_allow_next |
                  style::short_allow_adjacent;
    po::variables_map values;
    po::store(po::command_line_parser(args)
                  .options(options)
                  .positional(po::positional_options_description())
                  .style(accepted)
                  .run(),
              values);
    po::notify(values);
    for (auto const& [name, value] : values)
      if (auto const* const text = boost::any_cast<std::string>(&value.value());
          text != nullptr && text->starts_with("--"))
        throw error(errc::invalid_argument,
                    fmt::format("--{} needs a value, and {} is an option", name, *text));
    return values;
  } catch (po::too_many_positional_options_error const&) {
    throw error(errc::invalid_argument, "values belong behind an option, as in --world 16");
  } catch (po::error const& e) {
    throw error(errc::invalid_argument, e.what());
  }
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    auto const end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

std::vector<std::int64_t> number_list(std::string_view option, std::string_view text) {
  std::vector<std::int64_t> numbers;
  if (text.empty()) return numbers;
  for (auto const& part : split_list(text)) {
    std::int64_t number = 0;
    auto const* const end = part.data() + part.size();
    auto const [stop, failure] = std::from_chars(part.data(), end, number);
    if (failure != std::errc() || stop != end)
      throw error(
          errc::invalid_argument,
          fmt::format("--{} {}: \"{}\" is not a whole number of 64 bits", option, text, part));
    numbers.push_back(number);
  }
  return numbers;
}

void refuse_missing(std::string const& option) {
  throw error(errc::invalid_argument, fmt::format("--{} is missing", option));
}

}  // namespace hocket::tools
