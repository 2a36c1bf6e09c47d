// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "house.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace house {
namespace fs = std::filesystem;
namespace {

constexpr std::size_t lines_max = 500;
constexpr std::size_t columns_max = 100;

// Halves, so that this file does not contain what it looks for.
std::vector<std::string> const& local_words() {
  static auto const join = [](char const* a, char const* b) { return std::string(a) + b; };
  static std::vector<std::string> const words{join("/wo", "rk/"),
                                              join("/ro", "ot/"),
                                              join("/ho", "me/"),
                                              join("py", "pi.org"),
                                              join("python", "hosted.org"),
                                              join("deb.de", "bian.org"),
                                              join("snapshot.de", "bian"),
                                              join("TO", "DO"),
                                              join("FIX", "ME")};
  return words;
}

std::size_t columns(std::string const& line) {  // code points of UTF-8
  return static_cast<std::size_t>(std::count_if(
      line.begin(), line.end(), [](char c) { return (static_cast<unsigned char>(c) >> 6) != 2; }));
}

bool is_source(source_file const& file) {
  auto const name = fs::path(file.path).filename().string();
  auto const extension = fs::path(file.path).extension().string();
  return file.is_cpp() || file.is_script() || name == "CMakeLists.txt" || extension == ".cmake" ||
         extension == ".sh" || extension == ".py";
}

void check_source(source_file const& file, findings& found) {
  auto const at = [&](std::size_t line) { return file.path + ":" + std::to_string(line) + ": "; };
  std::size_t const first = file.is_script() ? 1 : 0;
  std::string const mark = file.is_cpp() ? "// SPDX-" : "# SPDX-";
  if (file.lines.size() < first + 2 ||
      file.lines[first] != mark + "License-Identifier: Apache-2.0" ||
      file.lines[first + 1] != mark + "FileCopyrightText: The Hocket authors")
    found.push_back(at(first + 1) + "the two lines of the licence header are missing");
  if (file.lines.size() > lines_max)
    found.push_back(at(lines_max + 1) + std::to_string(file.lines.size()) + " lines, at most " +
                    std::to_string(lines_max));
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    if (auto const n = columns(file.lines[i]); n > columns_max)
      found.push_back(at(i + 1) + std::to_string(n) + " columns, at most " +
                      std::to_string(columns_max));
    if (!file.lines[i].empty() && file.lines[i].back() == '\r')
      found.push_back(at(i + 1) + "carriage return at the end of the line");
  }
}

}  // namespace

findings check_top_level(fs::path const& root) {
  static std::set<std::string> const allowed{
      "CMakeLists.txt", "CMakePresets.json", "include", "src", "tests", "examples",
      "bench",          "README.md",         "LICENSE"};
  findings found;
  for (auto const& entry : fs::directory_iterator(root)) {
    auto const name = entry.path().filename().string();
    if (!name.starts_with('.') && !allowed.contains(name) && !is_local(name))
      found.push_back(name + ": does not belong at the top level");
  }
  return found;
}

findings check_text(fs::path const& root) {
  findings found;
  for (auto const& file : read_repository(root)) {
    if (is_source(file)) check_source(file, found);
    if (file.is_script() != file.is_executable)
      found.push_back(file.path + ":1: " +
                      (file.is_script() ? "a script without run bits" : "run bits on no script"));
    bool const is_data = file.path.find("/data/") != std::string::npos;
    for (std::size_t i = 0; i < file.lines.size() && !is_data; ++i) {
      for (auto const& word : local_words()) {
        if (file.lines[i].find(word) != std::string::npos)
          found.push_back(file.path + ":" + std::to_string(i + 1) + ": says '" + word + "'");
      }
    }
  }
  return found;
}

}  // namespace house
