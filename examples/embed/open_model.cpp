// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "open_model.hpp"

#include <fmt/format.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>
#include <hocket/error.hpp>

#include "model_directory.hpp"
#include "standard_streams.hpp"
#include "tiny_model.hpp"

namespace embed {
namespace {

// A tiny model in a directory that goes with the program.
class tiny_directory {
 public:
  tiny_directory() {
    std::error_code missing;
    auto const where = std::filesystem::temp_directory_path(missing);
    if (missing)
      throw hocket::error(
          missing, fmt::format("no directory for temporary files (TMPDIR): {}", missing.message()));
    std::string name = (where / "hocket-embed-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) {
      boost::system::error_code const code(errno, boost::system::system_category());
      throw hocket::error(
          code, fmt::format("cannot make a directory in {}: {}", where.string(), code.message()));
    }
    path_ = name;
    write_tiny_model(path_, tiny_model_options());
  }
  tiny_directory(tiny_directory const&) = delete;
  tiny_directory& operator=(tiny_directory const&) = delete;
  ~tiny_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace

std::shared_ptr<bert_model const> open_model(command_line const& line, remark told) {
  if (line.tiny) {
    if (told == remark::made)
      complain("hocket-embed: a tiny model with random weights: the vectors mean nothing\n");
    tiny_directory const directory;  // the model keeps its file mapped
    return std::make_shared<bert_model const>(directory.path());
  }
  auto const directory = line.model.empty() ? model_directory() : line.model;
  if (!has_model(directory))
    throw hocket::error(
        boost::system::errc::make_error_code(boost::system::errc::no_such_file_or_directory),
        fmt::format("no model in {} (config.json, vocab.txt and model.safetensors): get_model.sh "
                    "fetches it, --tiny does without",
                    directory.string()));
  return std::make_shared<bert_model const>(directory);
}

}  // namespace embed
