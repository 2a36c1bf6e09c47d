// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket-embed: cp * pp ranks of one process compute the embeddings of a file's sentences.
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <hocket/error.hpp>
#include <hocket/group/local_world.hpp>
#include <optional>
#include <thread>

#include "command_line.hpp"
#include "embed_rank.hpp"
#include "model_directory.hpp"
#include "standard_streams.hpp"
#include "terminal.hpp"
#include "tiny_model.hpp"

namespace {

namespace asio = boost::asio;

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
    embed::write_tiny_model(path_, embed::tiny_model_options());
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

std::shared_ptr<embed::bert_model const> open_model(embed::command_line const& line) {
  if (line.tiny) {
    embed::complain("hocket-embed: a tiny model with random weights: the vectors mean nothing\n");
    tiny_directory const directory;  // the model keeps its file mapped
    return std::make_shared<embed::bert_model const>(directory.path());
  }
  auto const directory = line.model.empty() ? embed::model_directory() : line.model;
  if (!embed::has_model(directory))
    throw hocket::error(
        boost::system::errc::make_error_code(boost::system::errc::no_such_file_or_directory),
        fmt::format("no model in {} (config.json, vocab.txt and model.safetensors): get_model.sh "
                    "fetches it, --tiny does without",
                    directory.string()));
  return std::make_shared<embed::bert_model const>(directory);
}

// What a rank saw first-hand says more than what its peers told it.
bool is_hearsay(std::exception_ptr const& failure) {
  try {
    std::rethrow_exception(failure);
  } catch (hocket::error const& e) {
    return e.code() == hocket::errc::revoked || e.code() == hocket::errc::peer_lost ||
           e.code() == hocket::errc::peer_failed || e.code() == hocket::errc::group_closed;
  } catch (...) {
    return false;
  }
}

void rethrow_cause(hocket::local_world const& ranks) {
  for (int rank = 0; rank < ranks.size(); ++rank) {
    auto const failure = ranks.failure(rank);
    if (failure && !is_hearsay(failure)) std::rethrow_exception(failure);
  }
  ranks.rethrow();
}

void run_in_this_process(embed::command_line const& line) {
  embed::terminal terminal(line);
  embed::embed_job job;
  job.model = open_model(line);
  job.cp = line.cp;
  job.pp = line.pp;
  job.in_flight = line.in_flight;
  job.client = &terminal;

  asio::thread_pool workers(std::max(1U, std::thread::hardware_concurrency()));
  job.workers = workers.get_executor();
  asio::io_context context(1);
  hocket::local_world ranks(context.get_executor(), line.cp * line.pp);
  ranks.spawn([&job](hocket::world w) { return embed::embed_rank(std::move(w), job); });
  context.run();
  workers.join();
  rethrow_cause(ranks);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    embed::open_standard_streams();
    embed::command_line const line = embed::parse_command_line(argc, argv);
    if (line.help) {
      embed::write_output(embed::help_text());
      embed::flush_output();
    } else {
      run_in_this_process(line);
    }
    return 0;
  } catch (std::exception const& e) {
    embed::complain(fmt::format("hocket-embed: {}\n", e.what()));
  }
  if (int const signal = embed::remembered_signal(); signal != 0) {
    std::fflush(stdout);
    ::signal(signal, SIG_DFL);
    ::raise(signal);  // whoever started this program sees what ended it
  }
  return 2;
}
