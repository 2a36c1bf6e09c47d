// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "host_engine.hpp"

#include <sys/stat.h>

#include <chrono>
#include <fstream>
#include <utility>

#include "host_joiner.hpp"

namespace hocket::host {
namespace {

// What is queued when a world ends still goes out, at most for so long.
constexpr auto farewell_max = std::chrono::milliseconds(500);

}  // namespace

host_engine::host_engine(runtime_handle rt, identity me, std::vector<io::address> const& listen_at,
                         std::string const& host)
    : fabric_(std::make_shared<fabric>(std::move(rt), std::move(me), listen_at, host)),
      joiner_(std::make_shared<host_joiner>(fabric_)) {}

host_engine::~host_engine() { fabric_->stop(farewell_max); }

std::shared_ptr<endpoint> host_engine::admit(group_spec const& spec) {
  return joiner_->admit(spec, weak_from_this());
}

void host_engine::start(std::vector<peer_place> where, std::weak_ptr<store> meeting_place) {
  fabric_->set_heirs({std::move(meeting_place), joiner_, weak_from_this()});
  fabric_->start(std::move(where), joiner_);
}

work<std::shared_ptr<endpoint>> host_engine::join(group_spec spec, detail::port_ptr home,
                                                  std::source_location site) {
  return joiner_->join(spec, std::move(home), site, weak_from_this());
}

std::string name_of_this_host() {
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat space {};
  auto const pids = ::stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
  return boot + "/" + std::to_string(pids);
}

}  // namespace hocket::host
