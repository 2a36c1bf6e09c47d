// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "exchange.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <utility>

#include "engine/matching/meeting.hpp"
#include "engine/matching/movement.hpp"
#include "fabric.hpp"
#include "host_hub.hpp"

namespace hocket::host {
namespace {

using detail::failure;

// Where the bytes of a gift can go at once: into the result, where they lie there in one piece.
tensor place_in_result(request const& own, request const& from, given const& g) {
  if (!own.out.defined() || own.takes_any_shape || own.out.dtype() != g.dtype) return {};
  tensor t;
  switch (own.print.kind) {
    case op_kind::broadcast:
    case op_kind::scatter:
    case op_kind::recv:
      t = own.out;
      break;
    case op_kind::all_gather:
    case op_kind::gather: {
      auto const pieces = own.plan->pieces(from.rank);
      if (pieces.size() == 1 && pieces[0].length == own.plan->part_size(from.rank))
        t = own.out.slice(static_cast<std::int64_t>(own.plan->dim()), pieces[0].full_start,
                          pieces[0].length);
      break;
    }
    default:
      break;
  }
  if (!t.defined() || !t.is_contiguous() || t.nbytes() != g.bytes()) return {};
  return t;
}

}  // namespace

exchange::exchange(std::shared_ptr<host_hub> at) : hub_(std::move(at)) {}
exchange::~exchange() = default;

void exchange_list::add(exchange& e) noexcept {
  std::lock_guard const lock(mutex_);
  e.after_ = first_;
  if (first_ != nullptr) first_->before_ = &e;
  first_ = &e;
  if (ended_.exception) e.abort(ended_);
}

void exchange_list::remove(exchange& e) noexcept {
  std::lock_guard const lock(mutex_);
  (e.before_ != nullptr ? e.before_->after_ : first_) = e.after_;
  if (e.after_ != nullptr) e.after_->before_ = e.before_;
}

void exchange_list::abort_all(failure const& why) noexcept {
  std::lock_guard const lock(mutex_);
  ended_ = why;
  for (auto* e = first_; e != nullptr; e = e->after_) e->abort(why);
}

void exchange_list::report(std::vector<std::string>& lines) {
  std::lock_guard const lock(mutex_);
  for (auto* e = first_; e != nullptr; e = e->after_) lines.push_back(e->describe());
}

// Transfers end later, from the fabric, under no lock of this object or of the list.
void exchange::abort(failure const& why) noexcept {
  std::lock_guard const lock(mutex_);
  aborted_ = why;
  if (!failure_.exception) failure_ = why;
  for (auto const& d : deliveries_) hub_->net().cancel(*d, why);
  hub_->net().recall(exposure_, why);
}

// An abort that came before everything was asked for has missed some of it.
void exchange::close() {
  {
    std::lock_guard const lock(mutex_);
    if (aborted_.exception) {
      for (auto const& d : deliveries_) hub_->net().cancel(*d, aborted_);
      hub_->net().recall(exposure_, aborted_);
    }
  }
  arrive({});
}

std::string exchange_list::waits_of(request const& r) {
  std::lock_guard const lock(mutex_);
  for (auto* e = first_; e != nullptr; e = e->after_)
    if (&e->own_call() == &r) return e->waits_for();
  return {};
}

std::string exchange::waits_for() {
  std::lock_guard const lock(mutex_);
  std::string waits;
  for (auto const& d : deliveries_)
    if (d->left > 0) waits += fmt::format("{}bytes of rank {}", waits.empty() ? "" : ", ", d->giver());
  auto const takers = hub_->net().takers_of(exposure_);
  for (int const r : takers)
    waits += fmt::format("{}rank {} to take its part", waits.empty() ? "" : ", ", r);
  return waits;
}

std::string exchange::describe() {
  auto const& own = own_call();
  auto const ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since_);
  return fmt::format("{} #{}: {} has met and moves for {:.0f} ms; it waits for {}", hub_->label(),
                     own.sequence, hocket::describe(own), ms.count(), waits_for());
}

void exchange::fetch_from(remote_call& from, request& own) {
  if (from.gives.empty() || from.is_here) return;
  {
    std::lock_guard const lock(mutex_);
    ++left_;
  }
  auto made = std::make_unique<delivery>(*this, from);
  auto& d = *made;
  {
    std::lock_guard const lock(mutex_);
    deliveries_.push_back(std::move(made));
  }
  std::uint32_t item = 0;
  for (auto const& g : from.gives) {
    tensor t = item == 0 ? place_in_result(own, from.asked, g) : tensor();
    bool const direct = t.defined();
    if (!direct) t = tensor::empty(g.dtype, g.shape);
    if (item == 0) {
      from.asked.in = t;
    } else {
      from.asked.attachments.push_back(t);
    }
    if (g.bytes() > 0) {
      {
        std::lock_guard const lock(mutex_);
        ++d.left;
      }
      wanted w;
      w.peer = from.world_rank;
      w.exposure = from.exposure;
      w.item = item;
      w.address = g.address;
      w.to = direct ? t.bytes(own.writes) : t.bytes();
      w.bytes = g.bytes();
      w.seal = from.seal;
      w.then = &d;
      hub_->net().fetch(w);
    }
    ++item;
  }
  d.came({});
}

void exchange::drain(request& own) {
  {
    std::lock_guard const lock(mutex_);
    ++left_;
    exposure_ = own.exposure;
  }
  failure f;
  if (hub_->net().is_drained(std::exchange(own.exposure, 0), drained_, f)) arrive(f);
}

void exchange::delivery::came(detail::failure const& f) noexcept {
  {
    std::lock_guard const lock(to_.mutex_);
    if (f.exception && !why.exception) why = f;
    if (--left > 0) return;
  }
  to_.hub_->release_gift(from_);
  to_.arrive(why);
}

void exchange::arrive(failure const& f) noexcept {
  {
    std::lock_guard const lock(mutex_);
    if (f.exception && !failure_.exception) failure_ = f;
    if (--left_ > 0) return;
  }
  hub_->exchanges().remove(*this);
  finished(failure_);
}

namespace {

class collective_exchange final : public exchange {
 public:
  collective_exchange(std::shared_ptr<host_hub> at, matching::meeting& m)
      : exchange(std::move(at)), meeting_(m) {}
  void begin() {
    request& own = *meeting_.parts[static_cast<std::size_t>(hub_->place())];
    hub_->exchanges().add(*this);
    for (request* const part : meeting_.parts)
      if (part->is_remote()) fetch_from(remote_call::of(*part), own);
    drain(own);
    close();
  }

 private:
  void finished(failure const& f) noexcept override {
    std::unique_ptr<collective_exchange> const self(this);
    request& own = *meeting_.parts[static_cast<std::size_t>(hub_->place())];
    auto outcome = f;
    if (f.exception) {
      outcome = matching::failure_of(own, f.exception);
    } else {
      outcome = matching::outcome_of(own, [&] { matching::fill(own, meeting_.parts); });
    }
    meeting_.finish(outcome);
  }

  request const& own_call() const noexcept override {
    return *meeting_.parts[static_cast<std::size_t>(hub_->place())];
  }

  matching::meeting& meeting_;
};

class message_exchange final : public exchange {
 public:
  message_exchange(std::shared_ptr<host_hub> at, request& send, request& recv)
      : exchange(std::move(at)), send_(send), recv_(recv) {}
  void begin() {
    hub_->exchanges().add(*this);
    fetch_from(remote_call::of(send_), recv_);
    close();
  }

 private:
  void finished(failure const& f) noexcept override {
    std::unique_ptr<message_exchange> const self(this);
    auto const outcome = f.exception ? matching::failure_of(recv_, f.exception)
                                     : matching::outcome_of(recv_, [this] {
                                         matching::transfer(send_, recv_);
                                       });
    hub_->message_ended(send_, outcome);  // first: the receiver may leave when it is told
    recv_.complete(matching::own_copy(outcome));
  }

  request const& own_call() const noexcept override { return recv_; }

  request& send_;
  request& recv_;
};

}  // namespace

void carry_collective(std::shared_ptr<host_hub> at, matching::meeting& m) noexcept {
  (new collective_exchange(std::move(at), m))->begin();
}

void carry_message(std::shared_ptr<host_hub> at, request& send, request& recv) noexcept {
  (new message_exchange(std::move(at), send, recv))->begin();
}

}  // namespace hocket::host
