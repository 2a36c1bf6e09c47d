// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "fabric.hpp"

#include <utility>

#include "presence.hpp"

namespace hocket::local {

fabric::fabric(runtime_handle rt, int world_size) : runtime_(std::move(rt)) {
  for (int r = 0; r < world_size; ++r) ranks_.push_back(std::make_shared<presence>(runtime_));
  runtime_.attach(*this);
}

fabric::~fabric() { runtime_.detach(*this); }

void fabric::carry_out(job& j, std::size_t bytes) {
  if (bytes <= inline_bytes_max || !runtime_.has_thread()) return j.run();
  auto const keep = shared_from_this();  // the job may hold the last group of this world
  {
    std::lock_guard const lock(jobs_mutex_);
    *last_job_ = &j;
    last_job_ = &j.next;
  }
  runtime_.wake();
  if (runtime_.has_thread()) return;
  while (progress()) {  // its last turn may have come before the job did
  }
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

}  // namespace hocket::local
