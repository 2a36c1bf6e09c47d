// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "source_tree.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>

namespace house {
namespace fs = std::filesystem;
namespace {

constexpr std::array folders{"include", "src", "tests", "examples", "bench", ".ci"};

// Lines of a text file; nothing for a binary one.
std::vector<std::string> read_lines(fs::path const& path) {
  std::ifstream in(path, std::ios::binary);
  std::string const text(std::istreambuf_iterator<char>(in), {});
  std::vector<std::string> lines;
  if (text.find('\0') != std::string::npos) return lines;
  for (std::size_t begin = 0; begin < text.size();) {
    auto const end = std::min(text.find('\n', begin), text.size());
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

source_file read_file(fs::path const& root, fs::path const& path) {
  auto const mode = fs::status(path).permissions();
  return {path.lexically_relative(root).generic_string(), read_lines(path),
          (mode & fs::perms::owner_exec) != fs::perms::none};
}

void sort_by_path(std::vector<source_file>& files) {
  std::sort(files.begin(), files.end(),
            [](source_file const& a, source_file const& b) { return a.path < b.path; });
}

}  // namespace

bool source_file::is_cpp() const {
  auto const extension = fs::path(path).extension().string();
  return extension == ".cpp" || extension == ".hpp" || extension == ".cu" || extension == ".cuh";
}

bool source_file::is_script() const { return !lines.empty() && lines.front().starts_with("#!"); }

std::vector<source_file> read_folder(fs::path const& root, std::string_view folder) {
  std::vector<source_file> files;
  if (!fs::is_directory(root / folder)) return files;
  for (auto const& entry : fs::recursive_directory_iterator(root / folder)) {
    if (entry.is_regular_file() && entry.file_size() <= (1u << 20) &&
        entry.path().string().find("__pycache__") == std::string::npos)
      files.push_back(read_file(root, entry.path()));
  }
  sort_by_path(files);
  return files;
}

std::vector<source_file> read_repository(fs::path const& root) {
  std::vector<source_file> files;
  for (auto const& entry : fs::directory_iterator(root)) {
    if (entry.is_regular_file() && !is_local(entry.path().filename().string()))
      files.push_back(read_file(root, entry.path()));
  }
  for (auto const* folder : folders) {
    auto more = read_folder(root, folder);
    std::move(more.begin(), more.end(), std::back_inserter(files));
  }
  sort_by_path(files);
  return files;
}

bool is_local(std::string_view name) {
  return name.starts_with("build") || name == "install" || name == ".git" ||
         name == "compile_commands.json" || name == "CMakeUserPresets.json";
}

}  // namespace house
