// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <concepts>
#include <cstddef>
#include <hocket/async/stream.hpp>
#include <hocket/group/process_group.hpp>
#include <memory>
#include <vector>

#include "bert_encoder.hpp"
#include "embed_job.hpp"
#include "figures.hpp"

namespace embed {

/// The layers of one pipeline stage on one context-parallel rank. All coroutines run on the rank's
/// executor, any number at a time; their arithmetic runs on one `host_stream`, in the order in
/// which the coroutines come to it, so that one request computes while another one waits for its
/// peers.
class stage {
 public:
  /// `executor` is the rank's. Throws `errc::invalid_argument` if there are more stages than
  /// layers.
  stage(embed_job const& job, int index, boost::asio::any_io_executor executor);

  /// The input vectors of this rank's rows: x[rows, hidden] of the whole sequence `ids[length]`.
  [[nodiscard]] boost::asio::awaitable<hocket::tensor> embed_rows(hocket::tensor ids,
                                                                  hocket::split_plan plan,
                                                                  hocket::process_group cp);

  /// x[rows, hidden] through all layers of the stage, in place. The sequence is split over `cp` by
  /// the plan.
  [[nodiscard]] boost::asio::awaitable<void> run_layers(hocket::tensor x, hocket::split_plan plan,
                                                        hocket::process_group cp);

  /// The unit vector [1, hidden] of a sequence, from the last layer's x[rows, hidden].
  [[nodiscard]] boost::asio::awaitable<hocket::tensor> pool_rows(hocket::tensor x,
                                                                 hocket::split_plan plan,
                                                                 hocket::process_group cp);

  [[nodiscard]] rank_clock& clock() noexcept { return *clock_; }

 private:
  using time = rank_clock::time;

  // Runs `f` on the stream; what it refers to must live until the coroutine goes on.
  template <std::invocable F>
  boost::asio::awaitable<void> compute(F& f) {
    rank_clock::computing const mark(*clock_);
    auto timed = [&f] {
      auto const begin = time::now();
      f();
      return time::now() - begin;
    };
    auto done = stream_.run(timed);
    auto const busy = co_await std::move(done);
    clock_->add_compute(busy);
  }

  // Room for one request's steps, from a stock of as many as were ever in flight.
  class scratch_loan {
   public:
    explicit scratch_loan(std::vector<std::unique_ptr<layer_scratch>>& stock);
    scratch_loan(scratch_loan const&) = delete;
    scratch_loan& operator=(scratch_loan const&) = delete;
    ~scratch_loan() { stock_.push_back(std::move(scratch_)); }
    [[nodiscard]] layer_scratch& operator*() const noexcept { return *scratch_; }

   private:
    std::vector<std::unique_ptr<layer_scratch>>& stock_;
    std::unique_ptr<layer_scratch> scratch_;
  };

  bert_config const& config_;
  bert_weights const weights_;
  hocket::host_stream stream_;
  std::shared_ptr<rank_clock> const clock_;
  std::vector<std::unique_ptr<layer_scratch>> stock_;
};

}  // namespace embed
