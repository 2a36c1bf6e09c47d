// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <cstring>
#include <hocket/op_info.hpp>

namespace hocket {

std::string to_string(std::source_location const& site) {
  if (site.line() == 0) return "call site unknown";
  char const* const path = site.file_name();
  char const* const slash = std::strrchr(path, '/');
  return fmt::format("{}:{}", slash != nullptr ? slash + 1 : path, site.line());
}

std::string to_string(op_info const& info) {
  std::string text;
  if (*info.group != '\0') {
    text = info.group;
    if (info.channel != 0) text += fmt::format(" ch {}", info.channel);
    text += fmt::format(" #{} ", info.sequence);
  }
  return text + fmt::format("{} ({})", info.operation, to_string(info.site));
}

}  // namespace hocket
