// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "line_relay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hocket/detail/assert.hpp>

namespace hocket::tools {

line_relay::line_relay(std::size_t ranks, bool labelled, std::size_t first)
    : sources_(ranks), labelled_(labelled), first_(first) {}

bool line_relay::wants(std::size_t rank) const {
  auto const& from = sources_[rank];
  return !from.closed && from.pending.size() < line_bytes_max && output().size() < output_bytes_max;
}

void line_relay::push(std::size_t rank, std::string_view bytes) {
  HOCKET_ASSERT(!sources_[rank].closed);
  sources_[rank].pending += bytes;
  settle_all(rank);
}

void line_relay::close(std::size_t rank) {
  sources_[rank].closed = true;
  settle_all(rank);
}

std::string_view line_relay::output() const { return std::string_view(output_).substr(written_); }

void line_relay::consume(std::size_t bytes) {
  HOCKET_ASSERT(bytes <= output().size());
  written_ += bytes;
  if (written_ < output_.size() && written_ < output_bytes_max) return;
  output_.erase(0, written_);
  written_ = 0;
}

bool line_relay::is_ready(source const& from) const {
  if (from.pending.empty()) return false;
  return from.closed || from.pending.size() >= line_bytes_max ||
         from.pending.find('\n') != std::string::npos;
}

bool line_relay::is_held_up() const {
  return owner_ && std::ranges::any_of(sources_, [this](auto const& s) { return is_ready(s); });
}

void line_relay::break_line() {
  if (!owner_) return;
  auto const next = *owner_ + 1;
  owner_.reset();
  settle_all(next);
}

// The rank first, then, unless it holds the stream, the others in turn.
void line_relay::settle_all(std::size_t first) {
  for (std::size_t i = 0; i < sources_.size(); ++i) settle((first + i) % sources_.size());
}

void line_relay::settle(std::size_t rank) {
  if (owner_.value_or(rank) != rank) return;
  auto& [pending, closed] = sources_[rank];
  if (auto const end = pending.rfind('\n'); end != std::string::npos) {
    emit(rank, std::string_view(pending).substr(0, end + 1));
    pending.erase(0, end + 1);
    owner_.reset();
  }
  if (pending.size() >= line_bytes_max) owner_ = rank;
  if (owner_ == rank || closed) {
    emit(rank, pending);
    pending.clear();
  }
  if (closed && owner_ == rank) owner_.reset();
}

void line_relay::emit(std::size_t rank, std::string_view text) {
  if (text.empty()) return;
  if (open_ && *open_ != rank) {
    output_ += '\n';
    open_.reset();
  }
  if (!labelled_) {
    output_ += text;
  } else {
    auto const label = fmt::format("[{}] ", first_ + rank);
    for (std::size_t begin = 0; begin < text.size();) {
      auto const end = std::min(text.find('\n', begin), text.size() - 1);
      auto const line = text.substr(begin, end - begin + 1);
      if (begin > 0 || !open_) output_ += label;
      output_ += line;
      begin += line.size();
    }
  }
  if (text.back() == '\n')
    open_.reset();
  else
    open_ = rank;
}

void last_lines::push(std::string_view bytes) {
  kept_ += bytes.substr(bytes.size() - std::min(bytes.size(), bytes_max));
  if (kept_.size() > bytes_max) kept_.erase(0, kept_.size() - bytes_max);
}

std::vector<std::string> last_lines::lines() const {
  std::vector<std::string> all;
  for (std::size_t begin = 0; begin < kept_.size();) {
    auto const end = std::min(kept_.find('\n', begin), kept_.size());
    all.push_back(kept_.substr(begin, end - begin));
    begin = end + 1;
  }
  if (all.size() > lines_max) all.erase(all.begin(), all.end() - lines_max);
  return all;
}

}  // namespace hocket::tools
