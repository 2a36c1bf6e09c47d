// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <hocket/async/clock.hpp>
#include <hocket/async/work.hpp>
#include <hocket/parallel/parallel_state.hpp>
#include <hocket/pipeline/pipeline_options.hpp>
#include <hocket/pipeline/stage_request.hpp>
#include <hocket/tensor/tensor.hpp>
#include <memory>
#include <source_location>

namespace hocket {

/// What one rank's part of a pipeline has done so far.
struct pipeline_report {
  pipeline_report() = default;
  std::uint64_t calls = 0;      ///< of the stage function, that have ended
  std::uint64_t failed = 0;     ///< requests that an exception ended in this stage
  std::uint64_t cancelled = 0;  ///< requests that were cancelled while they were here
  std::uint64_t open = 0;       ///< requests that are here now: waiting, running or not yet taken
  clock::duration busy{};       ///< in the function; calls that overlap count once each
  clock::duration elapsed{};    ///< from its first start to its last end
  /// The share of `elapsed` in which the stage idled.
  [[nodiscard]] double bubble() const noexcept;
};

/// A stream of requests through stages that run at the same time, each on ranks of its own.
///
/// Every rank of the stages makes one with the function of its stage and awaits `run()`. Requests
/// enter at the first stage (`submit`), which also gets the results. Shapes travel with the data,
/// so requests may differ; each stage is done with a request before the next begins it, and works
/// on another meanwhile. Memory is bounded: a stage holds the inputs and outputs its `credits`
/// allow, and the first one admits as many as may be `in_flight`.
///
/// A request ends once, with its result, its function's exception, or `operation_aborted` if it was
/// cancelled; when its result is known all stages have let go of its tensors. Its failure ends no
/// other. What fails between the ranks (a lost peer, a missed deadline of the group) ends `run()`
/// on all ranks, and every open request.
///
/// Threads: any may call; the functions' coroutines run on the context of the stages' group.
class pipeline {
 public:
  /// Over the pp group of a state, whose ranks along tp and cp work on each stage together: each
  /// hands its shard to its own peer in the next stage. All ranks make one with equal options.
  /// Throws `errc::invalid_argument` unless the options' numbers are at least 1.
  pipeline(ParallelState const& state, stage_function f,
           pipeline_options const& options = pipeline_options(),
           std::source_location site = std::source_location::current());
  /// Over the members of a group, in order.
  pipeline(process_group const& stages, stage_function f,
           pipeline_options const& options = pipeline_options(),
           std::source_location site = std::source_location::current());
  /// Cancels what is open.
  ~pipeline();
  pipeline(pipeline const&) = delete;
  pipeline& operator=(pipeline const&) = delete;

  /// A request, on a rank of the first stage; done with what the last stage's function returned.
  /// Where several ranks work on a stage all of them submit their shards, with equal options.
  /// Its canceller cancels the request wherever it is; an Asio slot ends one wait only. Dropping
  /// the handle changes nothing. On other stages `errc::invalid_argument`, after `close()`
  /// `errc::group_closed`.
  work<tensor> submit(tensor x, submit_options const& options = submit_options(),
                      std::source_location site = std::source_location::current());
  /// Nothing more will be submitted: `run()` ends on all ranks when all requests have. To be called
  /// on every rank of the first stage; on others it has no effect.
  void close();

  /// Serves this rank's stage until the pipeline is closed. Once. If it fails, or is cancelled, the
  /// group of the stages is revoked: no other stage waits for this one then.
  [[nodiscard]] boost::asio::awaitable<void> run();

  /// This rank's part so far.
  [[nodiscard]] pipeline_report report() const;

 private:
  std::shared_ptr<detail::pipeline_core> core_;
};

}  // namespace hocket
