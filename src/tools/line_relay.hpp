// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::tools {

/// Merges what several ranks write into one stream, whole lines at a time. Bytes and their order
/// inside a rank are kept; only two things are ever added: labels, and a newline behind an
/// unfinished line that another rank's line follows.
///
/// Memory is bounded: a line longer than `line_bytes_max` is passed on in pieces, and keeps the
/// other ranks waiting until it ends. `break_line` lets them go first.
class line_relay {
 public:
  static constexpr std::size_t line_bytes_max = std::size_t{64} << 10;
  static constexpr std::size_t output_bytes_max = std::size_t{256} << 10;

  /// The first of them is called `first` in labels.
  line_relay(std::size_t ranks, bool labelled, std::size_t first = 0);

  /// Whether more should be read from the rank now.
  [[nodiscard]] bool wants(std::size_t rank) const;
  void push(std::size_t rank, std::string_view bytes);
  /// The rank writes no more: its unfinished last line is passed on as it is.
  void close(std::size_t rank);

  /// What is to be written next; valid until the next call that is not const.
  [[nodiscard]] std::string_view output() const;
  void consume(std::size_t bytes);

  /// The rank whose long line is being passed on.
  [[nodiscard]] std::optional<std::size_t> owner() const { return owner_; }
  /// Whether a long line keeps something of another rank from being written.
  [[nodiscard]] bool is_held_up() const;
  void break_line();

  /// Whether the last byte passed on was not a newline.
  [[nodiscard]] bool is_line_open() const { return open_.has_value(); }

 private:
  struct source {
    std::string pending;
    bool closed = false;
  };
  [[nodiscard]] bool is_ready(source const& from) const;
  void settle(std::size_t rank);
  void settle_all(std::size_t first);
  void emit(std::size_t rank, std::string_view text);

  std::vector<source> sources_;
  bool labelled_;
  std::size_t first_;
  std::optional<std::size_t> owner_;
  std::optional<std::size_t> open_;  // whose unfinished line the output ends with
  std::string output_;
  std::size_t written_ = 0;
};

/// Remembers the last lines of a rank, at most `lines_max` of them and `bytes_max` bytes.
class last_lines {
 public:
  static constexpr std::size_t lines_max = 10;
  static constexpr std::size_t bytes_max = 4096;

  void push(std::string_view bytes);
  [[nodiscard]] std::vector<std::string> lines() const;

 private:
  std::string kept_;
};

}  // namespace hocket::tools
