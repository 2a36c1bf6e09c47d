// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <chrono>
#include <cstdlib>
#include <hocket/async/detail/deliver.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/error.hpp>
#include <hocket/group/detail/world_core.hpp>
#include <hocket/group/local_world.hpp>
#include <hocket/launch/join.hpp>
#include <hocket/launch/rendezvous.hpp>
#include <random>
#include <utility>
#include <vector>

#include "engine/host/host_engine.hpp"
#include "meet.hpp"
#include "outward_address.hpp"
#include "resident.hpp"
#include "time_left.hpp"

namespace hocket {
namespace {

host::identity identity_of(launch_options const& options) {
  host::identity me;
  me.job = options.job();
  me.epoch = options.epoch();
  me.rank = options.rank();
  me.size = options.size();
  std::ranges::copy(options.secret().bytes(), me.secret.begin());
  return me;
}

std::string variable(char const* name) {
  char const* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// What HOCKET_HOST_LISTEN says. Else a Unix socket for this host, and one of TCP where there are
// others.
std::vector<io::address> listening_addresses(launch_options const& options) {
  std::vector<io::address> all;
  if (auto const wanted = variable("HOCKET_HOST_LISTEN"); !wanted.empty()) {
    all.push_back(io::address::parse(wanted));
    return all;
  }
  std::random_device random;
  all.push_back(io::address::parse(
      fmt::format("unix:@hocket-{}-{}-{:08x}{:08x}", ::getuid(), ::getpid(), random(), random())));
  if (options.local_size() == options.size()) return all;
  if (options.master_host().empty())
    throw error(errc::invalid_argument,
                fmt::format("rank {} of {} shares its host with {} ranks only, and MASTER_ADDR is "
                            "not set: set MASTER_ADDR and MASTER_PORT to an address of rank 0's "
                            "host that all hosts can reach",
                            options.rank(), options.size(), options.local_size()));
  all.push_back(outward_address(options.master_host(), options.master_port()));
  return all;
}

world make_world(launch_options const& options, boost::asio::any_io_executor const& ex,
                 runtime_handle const& rt, std::shared_ptr<engine> e, group_spec spec,
                 std::shared_ptr<endpoint> at, detail::port_ptr const& home) {
  auto core = std::make_shared<detail::world_core>(world_rank(options.rank()), options.size(), ex,
                                                   rt, std::move(e));
  spec.deadline = group_options().deadline();
  core->all = detail::group_of(std::move(spec), std::move(at), rt, home);
  return world(std::move(core));
}

boost::asio::awaitable<world> join_host(boost::asio::any_io_executor ex, launch_options options,
                                        time_left limit) {
  auto const rt = runtime::process().handle();
  auto const home = detail::port_of(ex);
  auto meeting = open_store(ex, options, limit.options());
  auto const met = co_await std::move(meeting);

  auto const addresses = listening_addresses(options);
  auto const host = host::name_of_this_host();
  auto const engine =
      std::make_shared<host::host_engine>(rt, identity_of(options), addresses, host);
  std::shared_ptr<store> shared;  // none for a world of one, which meets nobody
  if (met.store())
    shared = make_prefixed_store(met.store(), fmt::format("hocket/{}/", options.epoch()));
  engine->keep(std::make_shared<resident>(
      ex, std::make_shared<std::pair<rendezvous, decltype(shared)>>(met, shared)));

  group_spec spec;
  spec.name = "world";
  spec.epoch = options.epoch();
  spec.members = rank_group::consecutive(world_rank(0), options.size());
  spec.rank = group_rank(options.rank());
  auto at = engine->admit(spec);

  std::vector<host::peer_place> where(1, engine->place());
  if (shared) {
    auto meets = meet(shared, options, engine->place(), met.is_host(), limit);
    where = co_await std::move(meets);
  }
  engine->start(std::move(where), shared);
  co_return make_world(options, ex, rt, engine, std::move(spec), std::move(at), home);
}

}  // namespace

work<world> join(boost::asio::any_io_executor const& ex, launch_options const& options,
                 op_options const& call, std::source_location site) {
  auto const home = detail::port_of(ex);
  try {
    options.check();
    if (!home)
      throw error(errc::invalid_argument, "join needs an executor of an execution context");
    if (options.engine() == engine_choice::local && options.size() > 1)
      throw error(
          errc::invalid_argument,
          fmt::format("HOCKET_ENGINE=local hosts all ranks in one process, but this is rank "
                      "{} of {} processes",
                      options.rank(), options.size()));
    if (options.size() == 1 && options.engine() != engine_choice::host)
      return make_ready_work(home, local_world(ex, 1)[0]);
  } catch (error const& e) {
    return detail::failed_work<world>(static_cast<errc>(e.code().value()), "join", e.what(), site);
  }
  auto const limit = call.deadline().value_or(options.timeout());
  auto p = std::make_shared<promise<world>>(home);
  auto handle = p->get_work();
  boost::asio::co_spawn(ex, join_host(ex, options, time_left(limit)),
                        [p](std::exception_ptr e, world w) {
                          if (e) {
                            p->fail(e);
                          } else {
                            p->set(std::move(w));
                          }
                        });
  return handle;
}

}  // namespace hocket
