// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <hocket/error.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/prediction.hpp>
#include <hocket/pipeline/schedule_csv.hpp>
#include <utility>

namespace hocket {
namespace {

constexpr std::array<std::string_view, 3> torch_actions{"UNSHARD", "RESHARD", "REDUCE_GRAD"};
constexpr std::string_view overlap = "OVERLAP_F_B";

std::string_view trimmed(std::string_view text) {
  auto const begin = text.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return text.substr(text.size());
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

class csv_reader {
 public:
  csv_reader(std::string_view text, std::span<std::string const> user_actions)
      : text_(text), user_actions_(user_actions) {}

  schedule read(std::string name) {
    if (text_.size() > csv_bytes_max)
      throw error(errc::too_large,
                  fmt::format("{} bytes are more than {}", text_.size(), csv_bytes_max));
    constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";
    if (text_.starts_with(byte_order_mark)) text_.remove_prefix(byte_order_mark.size());
    auto const last = text_.find_last_not_of(" \t\r\n");
    if (last == std::string_view::npos)
      throw error(errc::invalid_argument, "there is no action in the text");
    text_ = text_.substr(0, last + 1);
    for (std::size_t begin = 0; begin <= text_.size();) {
      auto const end = std::min(text_.find('\n', begin), text_.size());
      read_line(text_.substr(begin, end - begin));
      begin = end + 1;
    }
    return {std::move(name), placement(), microbatches_, std::move(lists_)};
  }

 private:
  void read_line(std::string_view line) {
    line_ = line;
    if (lists_.size() == static_cast<std::size_t>(schedule::count_max))
      fail(errc::too_large, line, fmt::format("more than {} lines", schedule::count_max));
    lists_.emplace_back();
    for (std::size_t begin = 0; begin <= line.size();) {
      auto const end = std::min(line.find(',', begin), line.size());
      read_cell(trimmed(line.substr(begin, end - begin)));
      begin = end + 1;
    }
    if (lists_.back().empty())
      fail(errc::invalid_argument, line, "the line of a rank has no action");
  }

  void read_cell(std::string_view cell) {
    if (cell.size() >= 2 && cell.front() == '"' && cell.back() == '"')
      cell = trimmed(cell.substr(1, cell.size() - 2));
    if (cell.empty()) return;
    if (cell.front() != '(') return add(cell);
    auto const close = cell.find(')');
    if (close == std::string_view::npos || cell.substr(close + 1) != overlap)
      fail(errc::invalid_argument, cell,
           fmt::format("actions in brackets are written as (0F1;3B0){}", overlap));
    auto const inside = cell.substr(1, close - 1);
    for (std::size_t begin = 0; begin <= inside.size();) {
      auto const end = std::min(inside.find(';', begin), inside.size());
      add(trimmed(inside.substr(begin, end - begin)));
      begin = end + 1;
    }
  }

  void add(std::string_view text) {
    auto const a = parsed(text);
    if (a.kind() == action_kind::user && !is_known(a.name()))
      fail(errc::invalid_argument, text,
           fmt::format("\"{}\": {} is not an action; the actions are F, B, I, W, SEND_F, RECV_F, "
                       "SEND_B, RECV_B, {}",
                       to_string(a), a.name(), fmt::join(torch_actions, ", ")));
    if (std::max(a.stage(), a.microbatch()) >= schedule::count_max)
      fail(errc::too_large, text,
           fmt::format("\"{}\": stages and microbatches are below {}", to_string(a),
                       schedule::count_max));
    if (++count_ > schedule::actions_max)
      fail(errc::too_large, text, fmt::format("more than {} actions", schedule::actions_max));
    place(a, text);
    microbatches_ = std::max(microbatches_, a.microbatch() + 1);
    lists_.back().push_back(a);
  }

  action parsed(std::string_view text) const {
    try {
      return action::parse(text);
    } catch (error const& e) {
      fail(errc::invalid_argument, text, e.what());
    }
  }

  bool is_known(std::string_view name) const {
    return std::ranges::find(torch_actions, name) != torch_actions.end() ||
           std::ranges::find(user_actions_, name) != user_actions_.end();
  }

  void place(action const& a, std::string_view text) {
    auto const stage = static_cast<std::size_t>(a.stage());
    int const rank = static_cast<int>(lists_.size()) - 1;
    if (stage >= rank_of_stage_.size()) rank_of_stage_.resize(stage + 1, -1);
    auto& known = rank_of_stage_[stage];
    if (known >= 0 && known != rank)
      fail(errc::invalid_argument, text,
           fmt::format("\"{}\": stage {} is on rank {} (line {})", to_string(a), stage, known,
                       known + 1));
    known = rank;
  }

  std::vector<int> placement() const {
    auto const absent = std::ranges::find(rank_of_stage_, -1);
    if (absent != rank_of_stage_.end())
      throw error(errc::invalid_argument,
                  fmt::format("stage {} is on no line, but stage {} is on line {}",
                              absent - rank_of_stage_.begin(), rank_of_stage_.size() - 1,
                              rank_of_stage_.back() + 1));
    if (microbatches_ == 0)
      throw error(errc::invalid_argument, "no action of the text has a microbatch");
    return rank_of_stage_;
  }

  // `where` is a part of the line.
  [[noreturn]] void fail(errc code, std::string_view where, std::string_view why) const {
    throw error(code, fmt::format("line {}, column {}: {}", lists_.size(),
                                  where.data() - line_.data() + 1, why));
  }

  std::string_view text_;
  std::span<std::string const> user_actions_;
  std::string_view line_;
  std::vector<std::vector<action>> lists_;
  std::vector<int> rank_of_stage_;
  int microbatches_ = 0;
  std::int64_t count_ = 0;
};

std::string text_of_comms(schedule const& plan) {
  std::string out;
  for (int r = 0; r < plan.ranks(); ++r) {
    bool is_first = true;
    for (auto const& a : plan.actions(r)) {
      if (!std::exchange(is_first, false)) out += ',';
      out += to_string(a);
    }
    out += '\n';
  }
  return out;
}

// PyTorch's runner without a communication pass finds a neighbour's action by its column.
std::string text_of_steps(schedule const& plan) {
  action_costs step;
  step.backward = step.user = 1;
  auto const run = predict(plan, step);
  double cells = 0;
  for (auto const& spans : run.timeline) cells += spans.empty() ? 0 : spans.back().end;
  if (cells > static_cast<double>(csv_bytes_max))
    throw error(errc::too_large, fmt::format("{} cells are more than {}", cells, csv_bytes_max));
  std::string out;
  for (int r = 0; r < plan.ranks(); ++r) {
    std::size_t column = 0;
    for (std::size_t i = 0; auto const& a : plan.actions(r)) {
      auto const at =
          static_cast<std::size_t>(run.timeline[static_cast<std::size_t>(r)][i++].begin);
      // A cell's comma stands before it, so the first has none.
      for (; column <= at; ++column)
        if (column > 0) out += ',';
      out += to_string(a);
    }
    out += '\n';
  }
  return out;
}

}  // namespace

schedule schedule_from_csv(std::string_view text, std::string name,
                           std::span<std::string const> user_actions) {
  return csv_reader(text, user_actions).read(std::move(name));
}

std::string to_csv(schedule const& plan, csv_form form) {
  return form == csv_form::compute_comms ? text_of_comms(with_communication(plan))
                                         : text_of_steps(without_communication(plan));
}

}  // namespace hocket
