// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/async/detail/then.hpp>
#include <hocket/group/detail/world_core.hpp>
#include <hocket/group/world.hpp>
#include <mutex>
#include <vector>

namespace hocket {
namespace detail {
namespace {

// The ranks that this process hosts. A core leaves it before its memory goes.
class directory {
 public:
  std::mutex mutex;
  std::vector<world_core*> ranks;
};

directory& hosted() {
  static auto* const instance = new directory;  // worlds may outlive every static object
  return *instance;
}

}  // namespace

void world_core::enlist() {
  auto& d = hosted();
  std::lock_guard const lock(d.mutex);
  d.ranks.push_back(this);
}

world_core::~world_core() {
  auto& d = hosted();
  std::lock_guard const lock(d.mutex);
  std::erase(d.ranks, this);
}

world only_world() {
  std::shared_ptr<world_core> found;  // let go after the lock: it may be the last
  std::size_t count = 0;
  {
    auto& d = hosted();
    std::lock_guard const lock(d.mutex);
    count = d.ranks.size();
    if (count == 1) found = d.ranks.front()->weak_from_this().lock();
  }
  if (found) return world(std::move(found));
  if (count > 1)
    throw error(errc::ambiguous_rank,
                fmt::format("this process hosts {} ranks: say which, by its world or ParallelState",
                            count));
  throw error(errc::not_initialized, "this process hosts no rank: it has joined no world");
}

}  // namespace detail

std::shared_ptr<detail::world_core> const& world::core() const {
  if (!core_) throw error(errc::not_initialized, "this world is empty: it was not handed out");
  return core_;
}

world_rank world::rank() const { return core()->rank; }
int world::size() const { return core()->size; }
process_group world::group() const { return core()->all; }
boost::asio::any_io_executor world::get_executor() const { return core()->executor; }
runtime_handle const& world::get_runtime() const { return core()->rt; }
std::string_view world::engine_name() const { return core()->engine->name(); }

work<process_group> make_group(world const& w, rank_group const& members,
                               group_options const& options, std::source_location site) {
  auto const& core = w.core();
  auto const place = members.group_rank_of(core->rank);
  if (!place)
    return detail::failed_work<process_group>(
        errc::not_a_member, "make_group",
        fmt::format("world rank {} is not in {}; only members call it", core->rank.value(),
                    to_string(members)),
        site);
  for (auto const r : members)
    if (r.value() >= core->size)
      return detail::failed_work<process_group>(
          errc::invalid_argument, "make_group",
          fmt::format("rank {} of {} is outside the world of {}", r.value(), to_string(members),
                      core->size),
          site);
  group_spec spec;
  spec.name = options.name();
  if (spec.name.empty()) {
    auto const hash = members.hash();
    spec.name = fmt::format("g{:08x}.{}", hash & 0xffffffff, core->count_group(hash));
  }
  spec.members = members;
  spec.rank = *place;
  auto const home = detail::port_of(options.executor().value_or(core->executor));
  if (!home)
    return detail::failed_work<process_group>(
        errc::invalid_argument, "make_group",
        fmt::format("the executor given for group {} is empty", spec.name), site);
  spec.deadline = options.deadline();
  auto const joined = core->engine->join(spec, home, site);
  return detail::then(joined, [spec = std::move(spec), home, rt = core->rt,
                               options](std::shared_ptr<endpoint> at) mutable {
    return detail::group_of(std::move(spec), std::move(at), rt, home, options);
  });
}

}  // namespace hocket
