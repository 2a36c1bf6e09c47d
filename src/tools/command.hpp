// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hocket::tools {

using arguments = std::vector<std::string>;

/// One subcommand. A failure is thrown as `hocket::error`; main reports it and exits with 2.
struct command {
  std::string_view name;
  std::string_view summary;      ///< one line in `hocket --help`
  std::string (*help)();         ///< the whole text of `hocket help NAME`, with an example
  int (*run)(arguments const&);  ///< takes what follows the name, returns the exit status
};

extern command const topo_command;
extern command const find_split_command;

}  // namespace hocket::tools
