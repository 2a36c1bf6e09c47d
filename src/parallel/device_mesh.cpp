// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/when_all.hpp>
#include <hocket/error.hpp>
#include <hocket/parallel/device_mesh.hpp>

#include "mesh_core.hpp"
#include "parallel_core.hpp"

namespace hocket {
namespace {

namespace asio = boost::asio;
using detail::mesh_core;

axis_set all_of(std::vector<axis> const& axes) {
  axis_set set;
  for (auto const a : axes) {
    if (set.contains(a))
      throw error(errc::invalid_argument,
                  fmt::format("a mesh along {} twice: an axis is one dimension", name_of(a)));
    set = set.with(a);
  }
  return set;
}

// Ranks of a state's group ascend: a step along an axis skips those that differ along the axes of
// smaller stride.
mesh_layout layout_along(ParallelState const& state, std::vector<axis> const& axes,
                         mesh_names const& names) {
  auto const grid = state.grid();
  auto const ranks = state.ranks(all_of(axes));
  shape sizes;
  shape strides;
  std::vector<std::string> axis_names;
  for (auto const a : axes) {
    axis_names.emplace_back(name_of(a));
    sizes.append(grid.size_of(a));
    int stride = 1;
    for (auto const other : axes)
      if (grid.stride_of(other) < grid.stride_of(a)) stride *= grid.size_of(other);
    strides.append(stride);
  }
  return {ranks, sizes, strides, names.list().empty() ? mesh_names(axis_names) : names};
}

mesh_core const& with_groups(mesh_core const& core) {
  if (core.rank) return core;
  throw error(errc::not_a_member,
              fmt::format("this rank has no groups of the mesh {}", to_string(core.layout)));
}

// All groups at once: every member starts its own in the same order.
asio::awaitable<std::shared_ptr<mesh_core>> make_mesh(world w, std::shared_ptr<mesh_core> core,
                                                      clock::duration timeout) {
  auto const& mesh = core->layout;
  group_options options;
  options.deadline(timeout);
  std::vector<process_group*> where;
  std::vector<work<process_group>> making;
  auto const add = [&](rank_group const& members, process_group& to) {
    if (members.size() == 1) return;
    where.push_back(&to);
    making.push_back(make_group(w, members, options));
  };
  add(mesh.ranks(), core->whole);
  for (std::size_t i = 0; i < mesh.ndim(); ++i) add(mesh.along(i, core->where), core->along[i]);
  // Groups that were made although others failed go with their handles.
  auto made = co_await when_all(std::move(making));
  for (std::size_t i = 0; i < where.size(); ++i) *where[i] = std::move(made[i]);
  if (!core->whole.is_disabled()) {
    // Nobody has the mesh before everybody can have it.
    op_options meeting;
    meeting.deadline(timeout);
    co_await core->whole.monitored_barrier(meeting);
  }
  co_return core;
}

}  // namespace

device_mesh::device_mesh() : core_(std::make_shared<mesh_core>()) {}

device_mesh::device_mesh(mesh_layout layout)
    : core_(std::make_shared<mesh_core>(std::move(layout))) {}

device_mesh::device_mesh(ParallelState const& state, mesh_axes const& of_axes,
                         mesh_names const& names)
    : core_(std::make_shared<mesh_core>(layout_along(state, of_axes.list(), names))) {
  auto const& axes = of_axes.list();
  core_->rank = state.rank();
  core_->where = *core_->layout.coordinate_of(state.rank());
  core_->whole = state.group(all_of(axes));
  for (std::size_t i = 0; i < axes.size(); ++i) core_->along[i] = state.group(axes[i]);
}

mesh_layout const& device_mesh::layout() const noexcept { return core_->layout; }
bool device_mesh::has_groups() const noexcept { return core_->rank.has_value(); }
world_rank device_mesh::rank() const { return *with_groups(*core_).rank; }
mesh_coordinate const& device_mesh::coordinate() const { return with_groups(*core_).where; }
process_group device_mesh::whole() const { return with_groups(*core_).whole; }
process_group device_mesh::group(std::size_t dim) const {
  static_cast<void>(size(dim));  // throws outside the mesh
  return with_groups(*core_).along[dim];
}
std::uint64_t device_mesh::bytes_received() const noexcept {
  return core_->bytes_received.load(std::memory_order_relaxed);
}

work<> device_mesh::close() const {
  if (!core_->owns_groups) return make_ready_work();
  std::vector<work<>> closing;
  for (std::size_t i = core_->layout.ndim(); i-- > 0;) closing.push_back(core_->along[i].close());
  closing.push_back(core_->whole.close());
  return when_all(std::move(closing));
}

work<device_mesh> init_device_mesh(world const& w, rank_group const& ranks, shape const& sizes,
                                   mesh_names const& names, clock::duration timeout,
                                   std::source_location site) {
  auto core = std::make_shared<mesh_core>();
  try {
    core->layout = mesh_layout(ranks, sizes, names);
    auto const where = core->layout.coordinate_of(w.rank());
    if (!where)
      throw error(errc::not_a_member, fmt::format("world rank {} is not in the mesh {}",
                                                  w.rank().value(), to_string(core->layout)));
    core->where = *where;
    core->rank = w.rank();
    core->owns_groups = true;
  } catch (error const& e) {
    return detail::refused<device_mesh>(e, "init_device_mesh", site);
  }
  auto const outcome = std::make_shared<promise<device_mesh>>(w.get_executor(), site);
  auto result = outcome->get_work();
  asio::co_spawn(w.get_executor(), make_mesh(w, core, timeout),
                 [outcome](std::exception_ptr e, std::shared_ptr<mesh_core> made) {
                   if (e) return outcome->fail(e);
                   outcome->set(device_mesh(std::move(made)));
                 });
  return result;
}

work<device_mesh> init_device_mesh(world const& w, shape const& sizes, mesh_names const& names,
                                   clock::duration timeout, std::source_location site) {
  return init_device_mesh(w, rank_group::consecutive(world_rank(0), w.size()), sizes, names,
                          timeout, site);
}

}  // namespace hocket
