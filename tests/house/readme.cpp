// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "readme.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <regex>

namespace house {
namespace fs = std::filesystem;
namespace {

using text_lines = std::vector<std::string>;

text_lines read_lines(fs::path const& path) {
  std::ifstream in(path);
  text_lines lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The lines between the two markers, without the indentation they share.
std::optional<text_lines> region(text_lines const& lines, std::string const& name) {
  auto const is_mark = [mark = "// [" + name + "]"](std::string const& line) {
    auto const begin = line.find_first_not_of(' ');
    return begin != std::string::npos && line.substr(begin) == mark;
  };
  auto const first = std::find_if(lines.begin(), lines.end(), is_mark);
  if (first == lines.end()) return std::nullopt;
  auto const last = std::find_if(first + 1, lines.end(), is_mark);
  if (last == lines.end()) return std::nullopt;
  text_lines found(first + 1, last);
  auto indent = std::string::npos;
  for (auto const& line : found) indent = std::min(indent, line.find_first_not_of(' '));
  if (indent == std::string::npos) return found;
  for (auto& line : found) line.erase(0, std::min(indent, line.size()));
  return found;
}

std::string difference(text_lines const& readme, text_lines const& example) {
  auto const [a, b] = std::mismatch(readme.begin(), readme.end(), example.begin(), example.end());
  auto const text = [](auto it, auto end) { return it == end ? std::string("(end)") : *it; };
  return "README has '" + text(a, readme.end()) + "', the example '" + text(b, example.end()) + "'";
}

}  // namespace

findings check_readme(fs::path const& root) {
  static std::regex const origin(R"(^<!-- from: (examples/\S+) (\S+) -->$)");
  auto const lines = read_lines(root / "README.md");
  if (lines.empty()) return {"README.md:1: missing or empty"};
  findings found;
  std::smatch from;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i] != "```cpp") continue;
    auto const at = "README.md:" + std::to_string(i + 1) + ": ";
    auto const end = std::find(lines.begin() + static_cast<std::ptrdiff_t>(i), lines.end(), "```");
    text_lines const block(lines.begin() + static_cast<std::ptrdiff_t>(i) + 1, end);
    if (i == 0 || !std::regex_match(lines[i - 1], from, origin)) {
      found.push_back(at + "code without '<!-- from: examples/FILE NAME -->' on the line above");
    } else if (!fs::is_regular_file(root / from[1].str())) {
      found.push_back(at + from[1].str() + " does not exist");
    } else if (auto const code = region(read_lines(root / from[1].str()), from[2]); !code) {
      found.push_back(at + from[1].str() + " has no two lines '// [" + from[2].str() + "]'");
    } else if (*code != block) {
      found.push_back(at + difference(block, *code));
    }
  }
  return found;
}

}  // namespace house
