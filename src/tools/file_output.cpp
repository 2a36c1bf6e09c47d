// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "file_output.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <hocket/error.hpp>
#include <memory>
#include <utility>

#include "standard_output.hpp"

namespace hocket::tools {

file_output::file_output(std::string option, std::string path)
    : option_(std::move(option)), path_(std::move(path)) {
  if (path_.empty())
    throw error(errc::invalid_argument, fmt::format("{}: the name of the file is empty", option_));
}

void file_output::write(std::string const& text) const {
  if (is_standard()) return put(text);
  auto const failed = [&] {
    boost::system::error_code const code(errno, boost::system::system_category());
    throw error(code, fmt::format("{} cannot be written: {}", path_, code.message()));
  };
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path_.c_str(), "w"), std::fclose);
  if (!file) failed();
  if (std::fwrite(text.data(), 1, text.size(), file.get()) != text.size()) failed();
  if (std::fclose(file.release()) != 0) failed();
}

void file_output::confirm() const {
  if (!is_standard()) put(fmt::format("{} written\n", path_));
}

std::optional<file_output> output_of(std::string option, std::optional<std::string> const& path) {
  if (!path) return std::nullopt;
  return file_output(std::move(option), *path);
}

void check_outputs(bool json, std::optional<file_output> const& one,
                   std::optional<file_output> const& other) {
  std::string first = json ? "--json" : "";
  for (auto const* const out : {&one, &other}) {
    if (!*out || !(*out)->is_standard()) continue;
    if (!first.empty())
      throw error(errc::invalid_argument,
                  fmt::format("{} and {} both write to standard output", first, (*out)->given()));
    first = (*out)->given();
  }
}

}  // namespace hocket::tools
