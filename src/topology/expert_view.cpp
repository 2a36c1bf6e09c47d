// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/error.hpp>
#include <hocket/topology/expert_view.hpp>

namespace hocket {
namespace {

[[noreturn]] void refuse(std::string story) {
  throw error(errc::invalid_argument, std::move(story));
}

rank_grid tile(rank_grid const& dense, expert_sizes sizes) {
  int const ep = sizes.ep.value_or(1);
  int const etp = sizes.etp.value_or(dense.size_of(axis::tp));
  int const pp = dense.size_of(axis::pp);
  if (ep < 1 || etp < 1) refuse(fmt::format("expert sizes etp {}, ep {}: below 1", etp, ep));
  if (dense.size_of(axis::ep) != 1)
    refuse(
        fmt::format("the grid has an ep of {} that multiplies its world of {}; an expert view "
                    "with ep {} tiles the ranks of a grid whose ep is 1",
                    dense.size_of(axis::ep), dense.size(), ep));
  auto const product = static_cast<std::int64_t>(etp) * ep;
  if (product > dense.size() || dense.size() % (product * pp) != 0)
    refuse(fmt::format("world {} is not a multiple of etp {} * ep {} * pp {} (order {})",
                       dense.size(), etp, ep, pp, dense.order().text()));
  axis_sizes expert;
  expert.tp = etp;
  expert.ep = ep;
  expert.pp = pp;
  expert.dp = dense.size() / static_cast<int>(product * pp);
  return rank_grid(dense.size(), expert, dense.order(), dense.offset());
}

}  // namespace

expert_view::expert_view(rank_grid const& dense, expert_sizes sizes) : grid_(tile(dense, sizes)) {
  // Pipeline groups have one size in both tilings: they are the same exactly if the strides are.
  if (dense.size_of(axis::pp) == 1 || dense.stride_of(axis::pp) == grid_.stride_of(axis::pp))
    return;
  world_rank const first(dense.offset());
  refuse(fmt::format(
      "pipeline groups differ: rank {} is in {} of tp {} * cp {} * dp {} * pp {}, but in {} of "
      "etp {} * ep {} * edp {} * pp {} (order {})",
      first.value(), to_string(dense.group_of(first, axis::pp)), dense.size_of(axis::tp),
      dense.size_of(axis::cp), dense.size_of(axis::dp), dense.size_of(axis::pp),
      to_string(grid_.group_of(first, axis::pp)), etp_size(), ep_size(), edp_size(),
      grid_.size_of(axis::pp), dense.order().text()));
}

std::optional<expert_view> make_expert_view(rank_grid const& dense, expert_sizes sizes) {
  if (!sizes.ep && !sizes.etp) return std::nullopt;
  return expert_view(dense, sizes);
}

}  // namespace hocket
