// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "fabric.hpp"

#include <hocket/detail/block_pool.hpp>
#include <utility>

#include "engine/matching/hub.hpp"
#include "engine/matching/meeting.hpp"
#include "engine/matching/movement.hpp"
#include "presence.hpp"

namespace hocket::local {
namespace {

// A collective that is complete.
class collective final : public job, public detail::pooled {
 public:
  explicit collective(meeting& m) : meeting_(&m) {}
  void run() noexcept override {
    std::unique_ptr<collective> const self(this);
    auto const f = matching::outcome_of(*meeting_->parts.front(),
                                        [this] { matching::transfer(meeting_->parts); });
    meeting_->finish(f);
  }

 private:
  meeting* meeting_;
};

// A matched message; its bytes go from the one buffer to the other.
class delivery final : public job, public detail::pooled {
 public:
  delivery(request& send, request& recv) : send_(&send), recv_(&recv) {}
  void run() noexcept override {
    std::unique_ptr<delivery> const self(this);
    auto const f = matching::outcome_of(*recv_, [this] { matching::transfer(*send_, *recv_); });
    recv_->complete(own_copy(f));
    send_->complete(f);
  }

 private:
  request* send_;
  request* recv_;
};

}  // namespace

fabric::fabric(runtime_handle rt, int world_size) : runtime_(std::move(rt)) {
  for (int r = 0; r < world_size; ++r) ranks_.push_back(std::make_shared<presence>(runtime_));
  runtime_.attach(*this);
}

fabric::~fabric() { runtime_.detach(*this); }

void fabric::carry(matching::hub&, meeting& m) noexcept {
  carry_out(*new collective(m), matching::bytes_of(m.parts));
}

void fabric::carry(matching::hub&, request& send, request& recv) noexcept {
  carry_out(*new delivery(send, recv), send.in.nbytes());
}

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
