// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

// Local stand-ins, replaced by the library's own names.
#include <hocket/async/detail/then.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/group/world.hpp>
#include <hocket/topology/rank_grid.hpp>

namespace hocket {

inline tensor split_inputs_cp(tensor const& x, split_plan const& plan, process_group const& g) {
  return split(x, plan, g.rank().value());
}
inline work<tensor> cat_outputs_cp(tensor x, split_plan const& plan, process_group const& g) {
  auto out = tensor::empty(x.dtype(), plan.full_shape(x.shape()));
  return detail::then(g.all_gather_v(out, x, plan), [out](std::monostate) { return out; });
}
template <class T>
work<T> broadcast(T value, process_group const& g) {
  return g.broadcast_object<T>(std::optional<T>(std::move(value)), group_rank(0));
}
}  // namespace hocket
