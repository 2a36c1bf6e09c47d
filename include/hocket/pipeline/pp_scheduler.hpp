// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/async/op_options.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/parallel/parallel_state.hpp>
#include <hocket/tensor/tensor.hpp>
#include <memory>
#include <source_location>

namespace hocket {

namespace detail {
class pp_scheduler_core;
class pp_queue;
}  // namespace detail

/// Hands activations from stage to stage of a pipeline; the last stage's next is the first.
///
/// A copyable handle. Dtype and shape travel with every tensor, so stages need not know them and
/// requests may differ. The two directions do not mix, also where next and previous are the same
/// rank; messages of one direction, channel and tag (`op_options().tag(t)`, below 2^62) arrive in
/// the order in which they were sent. A send is done when its receive has matched it; it holds its
/// tensor until then, so it need not be awaited, and the tensor must not be written before that.
/// A receive may be called before or after its send. Any thread may call.
class PPScheduler {
 public:
  /// Over the members of a group, in its order. Of a disabled one the calls fail: it has no way to
  /// itself; a state's has (`init_pp_scheduler`).
  explicit PPScheduler(process_group stages);

  /// The same stages with a channel and queue of their own, for one of several requests in flight:
  /// what they send is matched apart. Equal ids are the same channel and queue on every stage.
  [[nodiscard]] PPScheduler on(std::uint64_t channel_id) const;
  /// This stage calls nothing more on this channel; what is queued there is withdrawn.
  void close_channel() const;

  /// The stages, in order.
  [[nodiscard]] process_group const& group() const noexcept;
  /// This one, counted from 0.
  [[nodiscard]] int stage() const noexcept { return group().rank().value(); }
  /// How many there are.
  [[nodiscard]] int stages() const noexcept { return group().size(); }
  /// Whether inputs come from outside.
  [[nodiscard]] bool is_first() const noexcept { return stage() == 0; }
  /// Whether results go outside.
  [[nodiscard]] bool is_last() const noexcept { return stage() == stages() - 1; }

  // -- forwards
  /// To the next stage; done when its receive has matched it. Need not be awaited.
  work<> isend_next(tensor t, op_options const& options = {},
                    std::source_location site = std::source_location::current()) const;
  /// Into `buffer`, which must have the message's dtype and number of elements, else
  /// `errc::mismatch` on both stages.
  [[nodiscard]] work<> irecv_prev(
      tensor buffer, op_options const& options = {},
      std::source_location site = std::source_location::current()) const;
  /// The next tensor, whatever it is.
  [[nodiscard]] work<tensor> recv_prev_data(
      op_options const& options = {},
      std::source_location site = std::source_location::current()) const;
  /// The next tensor; `errc::mismatch`, naming both, if it is not what is expected. The message is
  /// consumed then.
  [[nodiscard]] work<tensor> recv_prev_data(
      shape const& extents, dtype type, op_options const& options = {},
      std::source_location site = std::source_location::current()) const;

  /// Begins a receive whose result is taken later, first in, first out.
  void queue_irecv_prev(op_options const& options = {},
                        std::source_location site = std::source_location::current()) const;
  /// Likewise; `errc::mismatch` when it is taken, if it is not what is expected.
  void queue_irecv_prev(shape const& extents, dtype type, op_options const& options = {},
                        std::source_location site = std::source_location::current()) const;
  /// The result of the oldest queued receive. `errc::invalid_argument` at once if there is none.
  [[nodiscard]] work<tensor> queue_irecv_prev_data(
      std::source_location site = std::source_location::current()) const;
  /// Receives that are queued and not taken.
  [[nodiscard]] std::size_t queued() const;

  // -- backwards
  /// To the previous stage; otherwise as `isend_next`.
  work<> isend_prev(tensor t, op_options const& options = {},
                    std::source_location site = std::source_location::current()) const;
  /// From the next stage; otherwise as `irecv_prev`.
  [[nodiscard]] work<> irecv_next(
      tensor buffer, op_options const& options = {},
      std::source_location site = std::source_location::current()) const;
  /// From the next stage; otherwise as `recv_prev_data`.
  [[nodiscard]] work<tensor> recv_next_data(
      op_options const& options = {},
      std::source_location site = std::source_location::current()) const;

  // -- for `init_pp_scheduler`
  /// @cond
  explicit PPScheduler(std::shared_ptr<detail::pp_scheduler_core> c);
  [[nodiscard]] std::shared_ptr<detail::pp_scheduler_core> const& core() const noexcept {
    return core_;
  }
  /// @endcond

 private:
  std::shared_ptr<detail::pp_scheduler_core> core_;
  std::shared_ptr<detail::pp_queue> queue_;
};

/// Gives the state a PPScheduler over its pp group. `errc::already_initialized` if it has one;
/// it ends with `destroy_model_parallel`. A state's only stage is its own next and previous one:
/// what it sends it receives, until the state ends. Channel ids are below 2^62 there.
/// The form without a state means the only rank that this process hosts.
PPScheduler init_pp_scheduler(ParallelState const& state);
/// Likewise for the only rank that this process hosts.
PPScheduler init_pp_scheduler();

/// The state's PPScheduler; `errc::not_initialized` without one.
[[nodiscard]] PPScheduler pp_scheduler(ParallelState const& state);
/// Likewise for the only rank that this process hosts.
[[nodiscard]] PPScheduler pp_scheduler();

}  // namespace hocket
