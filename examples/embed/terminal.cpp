// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "terminal.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <hocket/error.hpp>

#include "report.hpp"
#include "sentences.hpp"

namespace embed {
namespace {

[[noreturn]] void refuse_output() {
  boost::system::error_code const code(errno, boost::system::system_category());
  throw hocket::error(code, fmt::format("the output cannot be written: {}", code.message()));
}

void write(std::string const& text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) refuse_output();
}

}  // namespace

std::size_t terminal::open() {
  sentences_ = read_sentences(line_.file);
  return sentences_.size();
}

std::vector<token_id> terminal::tokens(bert_model const& model, std::size_t index) {
  return model.encode(sentences_[index]);
}

void terminal::take(std::size_t index, std::span<float const> embedding) {
  if (line_.neighbours) {
    embeddings_.emplace_back(embedding.begin(), embedding.end());
  } else {
    write(json_line(sentences_[index], embedding) + "\n");
  }
}

void terminal::report(std::span<rank_figures const> figures) {
  if (line_.neighbours) print_neighbours();
  if (std::fflush(stdout) != 0) refuse_output();
  fmt::print(stderr, "{} sentences, cp {} x pp {}, {} in flight\n{}", sentences_.size(), line_.cp,
             line_.pp, line_.in_flight, figures_table(figures, line_.cp, sentences_.size()));
}

void terminal::print_neighbours() const {
  for (neighbour_pair const& pair : closest_pairs(embeddings_, *line_.neighbours))
    write(fmt::format("{:6.3f} {:>6}  {}\n       {:>6}  {}\n", pair.similarity, pair.first + 1,
                      sentences_[pair.first], pair.second + 1, sentences_[pair.second]));
}

}  // namespace embed
