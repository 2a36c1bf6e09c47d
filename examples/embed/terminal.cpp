// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "terminal.hpp"

#include <fmt/format.h>

#include <boost/asio/error.hpp>
#include <cstring>
#include <hocket/error.hpp>

#include "report.hpp"
#include "sentences.hpp"
#include "standard_streams.hpp"

namespace embed {
namespace {

// Between two lines: what is printed is whole.
void heed_signals(std::size_t done, std::size_t all) {
  if (int const signal = remembered_signal(); signal != 0)
    throw hocket::error(
        boost::asio::error::operation_aborted,
        fmt::format("ended by SIG{} after {} of {} sentences", ::sigabbrev_np(signal), done, all));
}

}  // namespace

std::size_t terminal::open() {
  sentences_ = read_sentences(line_.file);
  // Before, nothing is printed, and reading may wait for a user; pairs are printed all at the end.
  if (!line_.neighbours) remember_signals();
  return sentences_.size();
}

std::vector<token_id> terminal::tokens(bert_model const& model, std::size_t index) {
  heed_signals(done_, sentences_.size());
  return model.encode(sentences_[index]);
}

void terminal::take(std::size_t index, std::span<float const> embedding) {
  if (line_.neighbours) {
    embeddings_.emplace_back(embedding.begin(), embedding.end());
  } else {
    write_output(json_line(sentences_[index], embedding) + "\n");
  }
  ++done_;
  heed_signals(done_, sentences_.size());
}

void terminal::report(std::span<rank_figures const> figures) {
  if (line_.neighbours) print_neighbours();
  flush_output();
  complain(fmt::format("{} sentences, cp {} x pp {}, {} in flight\n{}", sentences_.size(), line_.cp,
                       line_.pp, line_.in_flight,
                       figures_table(figures, line_.cp, sentences_.size())));
}

void terminal::print_neighbours() const {
  for (neighbour_pair const& pair : closest_pairs(embeddings_, *line_.neighbours))
    write_output(fmt::format("{:6.3f} {:>6}  {}\n       {:>6}  {}\n", pair.similarity,
                             pair.first + 1, sentences_[pair.first], pair.second + 1,
                             sentences_[pair.second]));
}

}  // namespace embed
