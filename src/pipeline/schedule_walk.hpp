// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <deque>
#include <hocket/async/canceller.hpp>
#include <hocket/async/task_group.hpp>
#include <hocket/group/object.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/pipeline/run_schedule.hpp>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "pipeline_hop.hpp"

namespace hocket::detail {

/// Which ranks a schedule runs on.
struct walk_places {
  walk_places() = default;
  process_group stages;
  process_group peers;
  boost::asio::any_io_executor executor;
  std::source_location site;
};

/// Tensors by stage and microbatch, of the stages that one rank holds.
class tensor_table {
 public:
  tensor_table(schedule const& plan, int rank);
  [[nodiscard]] tensor& at(int stage, int microbatch);

 private:
  std::vector<int> first_;  // of each stage, in cells_; -1: not here
  std::vector<tensor> cells_;
};

/// One rank's walk through its list of actions.
class schedule_walk : public std::enable_shared_from_this<schedule_walk> {
 public:
  schedule_walk(walk_places const& places, schedule plan, stage_actions actions,
                schedule_options const& options);

  /// All ranks: proves that they have one schedule, runs it, tells how it went.
  [[nodiscard]] boost::asio::awaitable<schedule_report> run();
  /// This rank calls nothing more.
  void close() const;

 private:
  using awaitable = boost::asio::awaitable<void>;
  using walk_ptr = std::shared_ptr<schedule_walk>;

  void check_actions() const;
  [[nodiscard]] boost::asio::awaitable<void> agree_on_plan();
  [[nodiscard]] boost::asio::awaitable<void> tell_failure();
  [[nodiscard]] boost::asio::awaitable<void> collect();

  static awaitable walk(walk_ptr self);
  static awaitable walk_all(walk_ptr self);
  [[nodiscard]] awaitable compute(action const& a, stage_actions::compute const& f);
  [[nodiscard]] awaitable communicate(action const& a);
  [[nodiscard]] awaitable send(action const& a);
  void hand_over(action const& a, tensor y);
  void receive_ahead();
  void give_up_messages();

  static awaitable listen(walk_ptr self, process_group from, bool tells_stages);
  void stop_listening();
  void fail(ending e, bool tells_stages, bool tells_peers);
  [[nodiscard]] ending failure() const;

  schedule const plan_;
  stage_actions const actions_;
  schedule_options const options_;
  process_group const stages_;
  process_group const peers_;
  boost::asio::any_io_executor const executor_;
  std::source_location const site_;
  int const rank_;
  std::string const label_;

  std::span<action const> list_;
  tensor_table inputs_, outputs_, gradients_in_, gradients_out_;
  std::size_t at_ = 0;  // in the list
  std::size_t next_receive_ = 0;
  std::deque<work<tensor>> receives_;
  std::deque<work<>> sends_;
  clock::time_point start_{};
  double busy_ = 0;
  schedule_report report_;

  mutable std::mutex mutex_;
  ending end_;
  bool tells_stages_ = false;
  bool tells_peers_ = false;
  bool is_over_ = false;
  canceller ear_for_stages_;
  canceller ear_for_peers_;
  std::optional<task_group> walking_;
};

}  // namespace hocket::detail
