// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "blueprint.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>

namespace hocket::detail {
namespace {

std::int64_t digits_of(order const& o) {
  std::int64_t digits = 0;
  for (auto const a : o.axes()) digits = 10 * digits + static_cast<std::int64_t>(a);
  return digits;
}

std::string order_text(std::int64_t digits) {
  std::string text;
  for (std::int64_t unit = 10000; unit > 0; unit /= 10) {
    if (!text.empty()) text += '-';
    text += name_of(static_cast<axis>(digits / unit % 10));
  }
  return text;
}

}  // namespace

blueprint::blueprint(world_rank me, rank_grid dense, expert_sizes experts, int virtual_stages,
                     clock::duration limit)
    : rank(me),
      grid(std::move(dense)),
      expert(make_expert_view(grid, experts)),
      virtual_pp(virtual_stages),
      timeout(limit) {
  if (!grid.contains(me))
    throw error(errc::not_a_member,
                fmt::format("world rank {} is not in the grid {}: only its ranks initialise it",
                            me.value(), describe(record())));
  auto const pp = grid.size_of(axis::pp);
  if (virtual_pp < 1 || (virtual_pp > 1 && pp == 1))
    throw error(errc::invalid_argument,
                fmt::format("{} virtual stages for each of {} pipeline stages: at least 1, and "
                            "more only where pp is above 1",
                            virtual_pp, pp));
  if (timeout <= clock::duration::zero())
    throw error(errc::invalid_argument, "the timeout of a model-parallel state is not positive");
}

topology_record blueprint::record() const {
  topology_record r{};
  std::size_t i = 0;
  for (auto const a : all_axes) r[i++] = grid.size_of(a);
  r[5] = digits_of(grid.order());
  r[6] = grid.offset();
  r[7] = virtual_pp;
  r[8] = expert ? expert->etp_size() : 0;
  r[9] = expert ? expert->ep_size() : 0;
  return r;
}

std::string describe(topology_record const& r) {
  std::int64_t world = 1;
  for (std::size_t i = 0; i < axis_count; ++i) world *= r[i];
  auto text = fmt::format("tp {} * cp {} * ep {} * dp {} * pp {} (order {}), world {}", r[0], r[1],
                          r[2], r[3], r[4], order_text(r[5]), world);
  if (r[6] != 0) text += fmt::format(" from rank {}", r[6]);
  if (r[7] != 1) text += fmt::format(", {} virtual stages", r[7]);
  if (r[8] != 0) text += fmt::format(", experts etp {} * ep {}", r[8], r[9]);
  return text;
}

}  // namespace hocket::detail
