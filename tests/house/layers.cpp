// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "layers.hpp"

#include <map>
#include <optional>
#include <regex>
#include <set>

namespace house {
namespace {

using names = std::set<std::string>;

// The layer table: what a folder's files may include besides their own folder. `detail` counts as
// base. A layer reaches those above it in this list; the side folders trace, algorithm and io
// reach less than their users do.
std::map<std::string, names> const& layer_table() {
  static names const to_topology{"base", "topology"};
  static names const to_tensor{"base", "topology", "tensor"};
  static names const to_async{"base", "topology", "tensor", "async"};
  static names const from_async{"base", "topology", "tensor", "async", "trace"};
  static names const from_group{"base",  "topology", "tensor",    "async",
                                "group", "trace",    "algorithm", "io"};
  static auto const with = [](names base, names const& more) {
    base.insert(more.begin(), more.end());
    return base;
  };
  static names const engines{"engine/local", "engine/host", "engine/nccl", "cuda", "engine"};
  static names const through_parallel = with(from_group, {"parallel", "pipeline"});
  static std::map<std::string, names> const table{
      {"base", {"base"}},
      {"topology", {"base"}},
      {"tensor", {"base"}},  // a tensor knows no ranks, though topology is above it
      {"async", with(from_async, {})},
      {"group", from_async},
      {"engine/matching", from_group},
      {"engine/local", with(from_group, {"cuda", "engine/matching"})},
      {"engine/nccl", with(from_group, {"cuda"})},
      {"engine/host", with(from_group, {"engine/matching"})},
      {"engine", from_group},
      {"cuda", from_group},
      {"parallel", through_parallel},
      {"pipeline", through_parallel},
      {"launch", with(through_parallel, engines)},
      {"tools", with(with(through_parallel, engines), {"launch", "umbrella"})},
      {"trace", {"base"}},
      {"algorithm", to_tensor},
      {"io", to_async},
      {"umbrella", with(through_parallel, {"launch"})},
  };
  return table;
}

struct include_line {
  std::size_t line;  // counted from 1
  std::string target;
  bool is_quoted;
};

std::vector<include_line> includes_of(source_file const& file) {
  static std::regex const pattern(R"(^\s*#\s*include\s*([<"])([^>"]+)[>"])");
  std::vector<include_line> found;
  for (std::size_t i = 0; i < file.lines.size(); ++i) {
    std::smatch match;
    if (std::regex_search(file.lines[i], match, pattern))
      found.push_back({i + 1, match[2].str(), match[1].str() == "\""});
  }
  return found;
}

std::string first_of(std::string const& path) { return path.substr(0, path.find('/')); }

// The layer of a path below include/hocket/ or src/; nothing if the table has none of that name.
std::optional<std::string> layer_of(std::string const& path) {
  if (path.find('/') == std::string::npos) return path == "hocket.hpp" ? "umbrella" : "base";
  auto const folder = first_of(path);
  if (folder == "detail") return "base";
  if (folder == "engine") {
    auto const rest = path.substr(folder.size() + 1);
    if (rest.find('/') != std::string::npos) return "engine/" + first_of(rest);
    return "engine";
  }
  if (layer_table().contains(folder)) return folder;
  return std::nullopt;
}

bool is_asio(std::string const& target) { return target.starts_with("boost/asio"); }

bool is_cuda(std::string const& target) {
  static std::regex const pattern(R"(^(cuda\w*\.h|cuda/.*|nccl\w*\.h|cublas.*|driver_types\.h)$)");
  return std::regex_match(target, pattern);
}

bool may_show_cuda(std::string const& path) {
  return path.starts_with("include/hocket/cuda/") || path.starts_with("src/cuda/") ||
         path.starts_with("src/engine/nccl/");
}

class checker {
 public:
  explicit checker(std::vector<source_file> files) {
    for (auto& file : files) files_.emplace(file.path, std::move(file));
  }

  findings run() {
    for (auto const& [path, file] : files_) {
      if (!file.is_cpp()) continue;
      check_file(file);
    }
    check_detail();
    return std::move(found_);
  }

 private:
  void complain(source_file const& file, std::size_t line, std::string const& why) {
    found_.push_back(file.path + ":" + std::to_string(line) + ": " + why);
  }

  static bool is_public(source_file const& file) { return file.path.starts_with("include/"); }

  static std::optional<std::string> layer_of_file(source_file const& file) {
    return layer_of(file.path.substr(is_public(file) ? sizeof("include/hocket") : sizeof("src")));
  }

  // The repository's file an include names, "" for a system header.
  std::string resolve(source_file const& from, include_line const& include) const {
    if (include.target.starts_with("hocket/")) return "include/" + include.target;
    if (!include.is_quoted) return "";
    auto const beside = from.path.substr(0, from.path.rfind('/') + 1) + include.target;
    return files_.contains(beside) ? beside : "src/" + include.target;
  }

  void check_file(source_file const& file) {
    auto const own = layer_of_file(file);
    if (!own || !layer_table().contains(*own)) {
      complain(file, 1, "this folder is not in the layer table");
      return;
    }
    for (auto const& include : includes_of(file)) check_include(file, *own, include);
    check_asio_free(file, *own);
    if (is_public(file)) check_defines(file);
  }

  void check_include(source_file const& file, std::string const& own, include_line const& include) {
    auto const& target = include.target;
    if (target == "boost/asio.hpp")
      complain(file, include.line, "include the parts of Asio that are used, not all of it");
    if (!include.is_quoted && is_cuda(target) && !may_show_cuda(file.path))
      complain(file, include.line, "<" + target + "> belongs to cuda/ and engine/nccl/ only");
    if (target.find("../") != std::string::npos) {
      complain(file, include.line, "name the path from include/ or src/, not by ..");
      return;
    }
    auto const path = resolve(file, include);
    if (path.empty()) return;
    if (is_public(file) && !target.starts_with("hocket/")) {
      complain(file, include.line, "a public header includes <hocket/...>, not \"" + target + "\"");
      return;
    }
    bool const in_include = path.starts_with("include/");
    auto const layer = layer_of(path.substr(in_include ? sizeof("include/hocket") : sizeof("src")));
    if (!layer) {
      complain(file, include.line, "\"" + target + "\" is in no folder of the layer table");
    } else if (*layer != own && !layer_table().at(own).contains(*layer)) {
      complain(file, include.line, own + " may not include " + *layer + " (" + target + ")");
    }
  }

  // Topology and tensor must not see Asio, not even through what they include.
  void check_asio_free(source_file const& file, std::string const& own) {
    bool const is_cu = file.path.ends_with(".cu") || file.path.ends_with(".cuh");
    if (own != "topology" && own != "tensor" && !is_cu) return;
    names seen;
    if (auto const way = way_to_asio(file, seen); !way.empty())
      complain(file, 1, (is_cu ? "a .cu file" : own) + " may not include Asio: " + way);
  }

  std::string way_to_asio(source_file const& file, names& seen) {
    if (!seen.insert(file.path).second) return "";
    for (auto const& include : includes_of(file)) {
      if (is_asio(include.target)) return include.target;
      auto const next = files_.find(resolve(file, include));
      if (next == files_.end()) continue;
      if (auto const way = way_to_asio(next->second, seen); !way.empty())
        return include.target + " -> " + way;
    }
    return "";
  }

  void check_defines(source_file const& file) {
    static std::regex const pattern(R"(^\s*#\s*define\s+BOOST_ASIO_)");
    for (std::size_t i = 0; i < file.lines.size(); ++i) {
      if (std::regex_search(file.lines[i], pattern))
        complain(file, i + 1, "a public header may not configure the user's Asio");
    }
  }

  // include/hocket/detail/ is for templates: a header that no public header needs belongs to src/.
  void check_detail() {
    names used{"include/hocket/detail/assert.hpp"};  // every layer's sources assert
    for (auto const& [path, file] : files_) {
      if (!is_public(file)) continue;
      for (auto const& include : includes_of(file)) used.insert("include/" + include.target);
    }
    for (auto const& [path, file] : files_) {
      if (path.starts_with("include/hocket/detail/") && !used.contains(path))
        complain(file, 1, "no public header includes this: move it to src/");
    }
  }

  std::map<std::string, source_file> files_;
  findings found_;
};

}  // namespace

findings check_layers(std::filesystem::path const& root) {
  auto files = read_folder(root, "include");
  auto sources = read_folder(root, "src");
  std::move(sources.begin(), sources.end(), std::back_inserter(files));
  return checker(std::move(files)).run();
}

}  // namespace house
