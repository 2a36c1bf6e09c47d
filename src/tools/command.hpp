// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/error.hpp>
#include <string>
#include <string_view>
#include <utility>
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

/// A program that cannot be started; main exits with the status a shell gives in that case.
class start_error : public error {
 public:
  start_error(boost::system::error_code code, std::string story, int exit_status)
      : error(code, std::move(story)), exit_status_(exit_status) {}
  [[nodiscard]] int exit_status() const noexcept { return exit_status_; }

 private:
  int exit_status_;
};

extern command const run_command;
extern command const topo_command;
extern command const find_split_command;
extern command const doctor_command;
extern command const bench_command;
extern command const schedule_command;

}  // namespace hocket::tools
