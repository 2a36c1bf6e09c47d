// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <hocket/async/runtime.hpp>
#include <hocket/async/task_group.hpp>
#include <hocket/group/object.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/pipeline/pipeline.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "pipeline_hop.hpp"
#include "pipeline_item.hpp"
#include "pipeline_request.hpp"

namespace hocket::detail {

/// Which ranks a pipeline runs on, and what it is called.
struct pipeline_places {
  pipeline_places() = default;
  process_group stages;
  process_group peers;
  boost::asio::any_io_executor executor;
  std::source_location site;
};

/// One rank's stage of a pipeline. Its state is touched on one strand only; stage functions run
/// beside it.
///
/// A request is a coroutine here from its announcement on (`serve`): it waits for its turn, calls
/// the function, agrees with the peers and goes on to the next stage. A request that ends early
/// still travels the rest of the way, as word of its end, so that every stage drops what it holds;
/// the last stage tells the first.
class pipeline_core : public std::enable_shared_from_this<pipeline_core> {
 public:
  pipeline_core(pipeline_places places, stage_function f, pipeline_options const& options);
  ~pipeline_core();
  pipeline_core(pipeline_core const&) = delete;
  pipeline_core& operator=(pipeline_core const&) = delete;

  // -- any thread
  [[nodiscard]] work<tensor> submit(tensor x, submit_options const& options,
                                    std::source_location site);
  void close_later();
  void cancel_later(std::uint64_t id);
  /// The owner is gone.
  void abandon();
  [[nodiscard]] pipeline_report report() const;
  [[nodiscard]] boost::asio::awaitable<void> run();

  // -- for stage functions
  [[nodiscard]] int stage() const noexcept { return stage_; }
  [[nodiscard]] int stages() const noexcept { return count_; }
  work<> skip_to(pipeline_item& item, int stage, tensor t, std::source_location site) const;
  [[nodiscard]] work<tensor> skip_from(pipeline_item& item, int stage,
                                       std::source_location site) const;

 private:
  using awaitable = boost::asio::awaitable<void>;
  using core_ptr = std::shared_ptr<pipeline_core>;

  [[nodiscard]] bool is_first() const noexcept { return stage_ == 0; }
  [[nodiscard]] bool is_last() const noexcept { return stage_ + 1 == count_; }
  [[nodiscard]] bool has_peers() const noexcept { return peers_.size() > 1; }
  [[nodiscard]] bool leads() const noexcept { return !has_peers() || peers_.rank().value() == 0; }
  template <class F>
  void on_strand(F f) {
    boost::asio::post(strand_, std::move(f));
  }

  // -- any thread
  [[nodiscard]] work<tensor> refuse(errc code, std::string const& story,
                                    std::source_location site) const;

  // -- requests that come
  void begin(request_ptr op, tensor x, submit_options const& options);
  void announce(hop const& h, tensor x);
  void cancel(std::uint64_t id);
  void kill(pipeline_item& item, ending end);
  void farewell_if_closing();
  void say_farewell();
  void end_open(std::exception_ptr const& why);

  // -- whose turn it is
  [[nodiscard]] bool has_room() const noexcept;
  void schedule();
  void give_turn(pipeline_item& item);
  void fetch_ahead();
  void fetch(pipeline_item& item);

  // -- one request
  static awaitable serve(core_ptr self, item_ptr item);
  static awaitable call_function(core_ptr self, item_ptr item);
  static awaitable run_function(core_ptr self, item_ptr item);
  static awaitable begin_running(core_ptr self);
  static awaitable drop_skips(core_ptr self, item_ptr item);
  static awaitable hand_on(core_ptr self, item_ptr item);
  void note_call(clock::time_point from, clock::time_point to);
  void note_end(ending const& end);

  // -- messages
  static awaitable listen(core_ptr self);
  static awaitable wait_for_end(core_ptr self);
  void take(hop const& h);
  work<> tell(int stage, hop const& h) const;
  void request_over(std::uint64_t id, tensor result, ending const& end);
  static awaitable fetch_result(core_ptr self, std::uint64_t id);

  // -- the peers of the stage (pipeline_team.cpp)
  static awaitable listen_to_peers(core_ptr self);
  static awaitable agree(core_ptr self, item_ptr item);
  void take_from_peer(hop const& h);
  void tell_peers(hop const& h) const;
  void tell_leader(hop const& h) const;
  void tell_kill(pipeline_item& item) const;
  void ended_at_peer(pipeline_item& item, hop const& h);
  void follow(pipeline_item& item, hop const& h);
  void give_granted_turns();

  pipeline_options const options_;
  stage_function const function_;
  process_group const stages_;      // a channel of the group
  process_group const peer_group_;  // channels of requests are opened in it
  process_group const peers_;       // a channel of it
  int const stage_;
  int const count_;
  int const in_flight_max_;
  std::source_location const site_;
  boost::asio::any_io_executor const executor_;
  boost::asio::any_io_executor const strand_;
  port_ptr const home_;
  runtime_handle const rt_;
  std::string const label_;

  std::atomic<std::uint64_t> next_id_{1};
  std::atomic<bool> closing_{false};
  std::atomic<bool> ran_{false};
  std::atomic<bool> is_over_{false};  // nothing begins any more
  std::atomic<bool> has_ended_{false};

  task_group tasks_;
  std::optional<promise<>> over_;
  bool is_running_ = false;
  bool is_closing_ = false;
  request_book book_;
  std::unordered_map<std::uint64_t, item_ptr> items_;
  std::vector<pipeline_item*> waiting_;  // for their turn
  std::uint64_t arrivals_ = 0;
  int running_ = 0;
  int not_taken_ = 0;                            // outputs
  std::unordered_set<std::uint64_t> in_flight_;  // begun by the first stage
  std::vector<work<>> farewells_;
  std::deque<std::uint64_t> granted_;                          // turns that the first peer gives
  std::unordered_map<std::uint64_t, std::vector<hop>> early_;  // from it, of requests to come

  mutable std::mutex report_mutex_;
  pipeline_report report_;
  std::optional<clock::time_point> first_call_;
};

/// Channels of a pipeline: of its own for request 0, else of a request among peers.
[[nodiscard]] inline std::uint64_t channel_of(int pipeline, std::uint64_t request) noexcept {
  return (std::uint64_t{1} << 61) | (static_cast<std::uint64_t>(pipeline) << 48) | request;
}

/// Tags of a pipeline's messages: what they are, and of which request.
[[nodiscard]] inline std::uint64_t tag_of(std::uint64_t what, std::uint64_t id) noexcept {
  return (what << 48) | id;
}
inline constexpr std::uint64_t word_tag = 1, data_tag = 2, skip_tag = 3, result_tag = 4;

}  // namespace hocket::detail
