// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "embed_job.hpp"

namespace embed {

/// Reads sentences from a file, prints what the command line asks for on standard output and the
/// figures on standard error. SIGINT and SIGTERM end it between two vectors, as an error on rank 0.
class terminal final : public client {
 public:
  explicit terminal(command_line const& line) : line_(line) {}

  std::size_t open() override;
  std::vector<token_id> tokens(bert_model const& model, std::size_t index) override;
  void take(std::size_t index, std::span<float const> embedding) override;
  void report(std::span<rank_figures const> figures) override;

 private:
  void print_neighbours() const;

  command_line const& line_;
  std::vector<std::string> sentences_;
  std::atomic<std::size_t> done_ = 0;           // read where tokens are made
  std::vector<std::vector<float>> embeddings_;  // kept only to find neighbours
};

}  // namespace embed
