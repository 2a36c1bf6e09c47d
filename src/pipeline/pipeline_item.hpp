// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <hocket/async/promise.hpp>
#include <hocket/async/task_group.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/tensor/tensor.hpp>
#include <memory>
#include <optional>
#include <string>

#include "pipeline_hop.hpp"

namespace hocket::detail {

/// One request while it is at this stage. Touched on the core's strand, but for what a call of the
/// stage function uses while it runs (input, output, skips), and the flag.
struct pipeline_item {
  pipeline_item(hop const& h, std::uint64_t order)
      : id(h.id),
        priority(h.priority),
        note(h.note),
        arrival(order),
        was_over(h.kind == hop_kind::dead),
        end(h.end),
        skips(h.skips) {}

  std::uint64_t const id;
  std::int32_t const priority;
  std::string const note;
  std::uint64_t const arrival;
  bool const was_over;  ///< it ended in an earlier stage
  ending end;           ///< known as soon as there is a reason
  skip_list skips;      ///< to this stage and later ones

  std::atomic<bool> is_cancelled{false};
  bool has_turn = false;  ///< the function runs, or has run
  bool is_leaving = false;
  work<tensor> arriving;  ///< the input, fetched ahead
  tensor input;
  tensor output;
  std::exception_ptr thrown;  ///< by the function
  process_group peers;        ///< the channel of this request
  std::optional<task_group> call;
  std::optional<promise<>> turn;

  // -- among the peers of the stage
  bool kill_told = false;
  int answers_missing = 0;
  bool has_verdict = false;
  std::optional<promise<>> agreed;
};

/// Lets a coroutine go on that waits for it, if one does.
inline void fire(std::optional<promise<>>& waited_for) {
  if (!waited_for) return;
  auto p = *std::move(waited_for);
  waited_for.reset();
  p.set();
}

using item_ptr = std::shared_ptr<pipeline_item>;

}  // namespace hocket::detail
