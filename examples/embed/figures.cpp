// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "figures.hpp"

#include <fmt/format.h>

namespace embed {
namespace {

double seconds(rank_clock::time::duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

void rank_clock::step(int& count, int by) noexcept {
  time::time_point const now = time::now();
  if (in_flight_ > 0) (computing_ > 0 ? hidden_ : exposed_) += now - last_;
  last_ = now;
  count += by;
}

rank_figures rank_clock::read() {
  step(in_flight_, 0);
  return {seconds(last_ - begin_), seconds(compute_), seconds(exposed_), seconds(hidden_)};
}

std::string figures_table(std::span<rank_figures const> figures, int cp, std::size_t sentences) {
  std::string text =
      "milliseconds a rank computed, and had communication in flight with nothing to compute "
      "(exposed) or behind computation (hidden)\n";
  text += fmt::format("{:>4} {:>5} {:>4} {:>10} {:>10} {:>10} {:>10} {:>12}\n", "rank", "stage",
                      "cp", "wall", "compute", "exposed", "hidden", "sentences/s");
  int rank = 0;
  for (rank_figures const& f : figures) {
    text += fmt::format("{:>4} {:>5} {:>4} {:>10.1f} {:>10.1f} {:>10.1f} {:>10.1f} {:>12.1f}\n",
                        rank, rank / cp, rank % cp, f.wall * 1e3, f.compute * 1e3, f.exposed * 1e3,
                        f.hidden * 1e3, static_cast<double>(sentences) / f.wall);
    ++rank;
  }
  return text;
}

}  // namespace embed
