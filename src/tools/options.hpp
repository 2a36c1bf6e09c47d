// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/program_options/options_description.hpp>
#include <boost/program_options/variables_map.hpp>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace hocket::tools {

/// Whether options have one-letter names too. With those, a value may not begin with a dash.
enum class dashes { two, one_or_two };

/// Reads `--name value` pairs strictly: no abbreviations, no repetitions, nothing positional.
/// Anything else is `errc::invalid_argument`.
[[nodiscard]] boost::program_options::variables_map parse(
    boost::program_options::options_description const& options, arguments const& args,
    dashes allowed = dashes::two);

/// The value of an option that must be there, as `--name`.
template <class T>
[[nodiscard]] T const& required(boost::program_options::variables_map const& values,
                                std::string const& name);

/// The value of an option if it is there.
template <class T>
[[nodiscard]] std::optional<T> given(boost::program_options::variables_map const& values,
                                     std::string const& name) {
  if (values.count(name) == 0) return std::nullopt;
  return values[name].as<T>();
}

/// "a,b,c" as its parts; an empty part stays.
[[nodiscard]] std::vector<std::string> split_list(std::string_view text);

/// "1,16,6,44,80" as numbers. A part that is not one is `errc::invalid_argument`.
[[nodiscard]] std::vector<std::int64_t> number_list(std::string_view option, std::string_view text);

[[noreturn]] void refuse_missing(std::string const& option);

template <class T>
T const& required(boost::program_options::variables_map const& values, std::string const& name) {
  if (values.count(name) == 0) refuse_missing(name);
  return values[name].as<T>();
}

}  // namespace hocket::tools
