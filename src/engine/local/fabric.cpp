// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "fabric.hpp"

#include <fmt/format.h>

#include <utility>

#include "gathering.hpp"

namespace hocket::local {

fabric::fabric(runtime_handle rt) : runtime_(std::move(rt)) { runtime_.attach(*this); }

fabric::~fabric() {
  runtime_.detach(*this);
  while (progress()) {
  }
}

void fabric::carry_out(job* j, std::size_t bytes) {
  if (bytes <= inline_bytes_max || !runtime_.has_thread()) return j->run();
  {
    std::lock_guard const lock(jobs_mutex_);
    *last_job_ = j;
    last_job_ = &j->next;
  }
  runtime_.wake();
}

bool fabric::progress() noexcept {
  job* j = nullptr;
  {
    std::lock_guard const lock(jobs_mutex_);
    j = first_job_;
    if (j == nullptr) return false;
    first_job_ = j->next;
    if (first_job_ == nullptr) last_job_ = &first_job_;
  }
  auto const keep = weak_from_this().lock();  // a handler may drop the last handle of the world
  j->run();
  return true;
}

work<std::shared_ptr<endpoint>> fabric::join(group_spec const& spec, detail::port_ptr home,
                                             std::source_location site) {
  auto const key = fmt::format("{}@{}", spec.name, spec.epoch);
  std::shared_ptr<gathering> g;
  {
    std::lock_guard const lock(joins_mutex_);
    auto& place = joining_[key];
    if (!place) place = std::make_shared<gathering>(shared_from_this(), spec);
    g = place;
  }
  return g->join(spec, std::move(home), site, runtime_);
}

void fabric::forget(gathering const* g) {
  std::lock_guard const lock(joins_mutex_);
  std::erase_if(joining_, [g](auto const& entry) { return entry.second.get() == g; });
}

}  // namespace hocket::local
