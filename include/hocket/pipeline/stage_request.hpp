// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <functional>
#include <hocket/async/work.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/tensor/tensor.hpp>
#include <memory>
#include <source_location>
#include <string>

namespace hocket {

namespace detail {
class pipeline_core;
struct pipeline_item;
}  // namespace detail

/// One request as a stage function sees it. A copyable handle, for the time of the call.
class stage_request {
 public:
  /// Equal on all stages.
  [[nodiscard]] std::uint64_t id() const noexcept;
  /// As it was submitted.
  [[nodiscard]] int priority() const noexcept;
  /// As it was submitted.
  [[nodiscard]] std::string const& note() const noexcept;
  /// Where it is, counted from 0.
  [[nodiscard]] int stage() const noexcept;
  /// Of how many.
  [[nodiscard]] int stages() const noexcept;
  /// Whether the input comes from `submit`.
  [[nodiscard]] bool is_first() const noexcept { return stage() == 0; }
  /// Whether the output is the result.
  [[nodiscard]] bool is_last() const noexcept { return stage() + 1 == stages(); }
  /// Whether the request has been cancelled: for long computations, which cannot be interrupted.
  /// Any thread.
  [[nodiscard]] bool is_cancelled() const noexcept;

  /// The ranks that work on this stage with this one, on a channel of this request and stage; it is
  /// closed when the function has returned on all of them. Disabled where there are none.
  [[nodiscard]] process_group const& peers() const noexcept;

  /// Hands a tensor to a later stage, past those between; for its `skip_from`, in the order of the
  /// calls. The operation owns the tensor. `errc::invalid_argument` unless it is a later stage.
  work<> skip_to(int stage, tensor t,
                 std::source_location site = std::source_location::current()) const;
  /// The next tensor that an earlier stage has handed to this one; `errc::invalid_argument` at once
  /// if there is no other. What a function does not take is dropped.
  [[nodiscard]] work<tensor> skip_from(
      int stage, std::source_location site = std::source_location::current()) const;

  /// @cond
  stage_request(std::shared_ptr<detail::pipeline_core> c, std::shared_ptr<detail::pipeline_item> i)
      : core_(std::move(c)), item_(std::move(i)) {}
  /// @endcond

 private:
  std::shared_ptr<detail::pipeline_core> core_;
  std::shared_ptr<detail::pipeline_item> item_;
};

/// What one stage makes of a request's activations. An exception fails that request alone. Of a
/// cancelled request it is cancelled as Asio does it (terminal), and what it returns is dropped.
/// It runs on the context of the stages' group, on a strand of its own. `tensor()` stands for no
/// data: the next stage gets a tensor of no elements.
using stage_function = std::function<boost::asio::awaitable<tensor>(stage_request, tensor)>;

}  // namespace hocket
