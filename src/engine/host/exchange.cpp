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
using detail::make_failure;

// Whether the giver gives something to this rank, in a call of this kind.
bool is_giver(request const& own, request const& from) noexcept {
  switch (own.print.kind) {
    case op_kind::broadcast:
    case op_kind::scatter:
    case op_kind::broadcast_object:
    case op_kind::scatter_objects:
      return from.rank == own.print.root;
    case op_kind::gather:
    case op_kind::reduce:
    case op_kind::gather_objects:
      return own.rank == own.print.root;
    case op_kind::barrier:
    case op_kind::monitored_barrier:
      return false;
    default:
      return true;
  }
}

// The same extents but for one dimension.
bool are_alike_beside(std::size_t dim, shape const& a, shape const& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i)
    if (i != dim && a[i] != b[i]) return false;
  return true;
}

// Whether the tensor can be what a member gives whose call agrees with this rank's.
bool can_be_given(request const& own, request const& from, given const& g) {
  switch (own.print.kind) {
    case op_kind::broadcast:
    case op_kind::scatter:
      return true;  // the root alone knows; copying compares
    case op_kind::all_gather:
    case op_kind::gather:
      return g.dtype == own.out.dtype() &&
             g.shape.numel() == own.plan->shard_shape(own.out.shape(), from.rank).numel();
    case op_kind::reduce:
    case op_kind::all_reduce:
      return g.dtype == own.in.dtype() && g.shape.numel() == own.in.numel();
    case op_kind::reduce_scatter:
      return g.dtype == own.in.dtype() &&
             g.shape == split_view(own.in, *own.plan, own.rank).shape();
    case op_kind::all_to_all:
      return g.dtype == own.out.dtype() &&
             are_alike_beside(own.plan->dim(), g.shape, own.out.shape());
    case op_kind::recv:
      return own.takes_any_shape ||
             (g.dtype == own.out.dtype() && g.shape.numel() == own.out.numel());
    default:  // objects
      return size_of(g.dtype) == 1 && g.shape.size() == 1;
  }
}

// What is wrong with what a call gives, if no member gives that; empty: nothing.
std::string fault_in_gifts(request const& own, remote_call const& from) {
  auto const kind = own.print.kind;
  bool const is_object = kind == op_kind::broadcast_object || kind == op_kind::scatter_objects ||
                         kind == op_kind::gather_objects || kind == op_kind::recv_object;
  bool const may_be_none = kind == op_kind::broadcast || kind == op_kind::scatter;
  bool const gives = is_giver(own, from.asked);
  std::size_t const least = gives && !may_be_none ? 1 : 0;
  std::size_t const most = !gives ? 0 : is_object ? from.gives.size() : 1;
  if (from.gives.size() < least || from.gives.size() > most)
    return fmt::format("it gives {} tensors in a {}", from.gives.size(), name_of(kind));
  if (from.gives.empty() || can_be_given(own, from.asked, from.gives.front())) return {};
  auto const& g = from.gives.front();
  return fmt::format("it gives {}{} in {}", name_of(g.dtype), to_string(g.shape), describe(own));
}

// Why what an honest member may well give does not fit, told before room is made for it; empty: it
// does.
std::string misfit(request const& own, remote_call const& from) {
  auto const kind = own.print.kind;
  auto const& s = from.gives.front().shape;
  bool const is_from_root = kind == op_kind::broadcast || kind == op_kind::scatter;
  if (is_from_root && !own.takes_any_shape && s.numel() != own.out.numel())
    return fmt::format("rank {} gives {} elements, {}", from.asked.rank, s.numel(), describe(own));
  if (kind == op_kind::all_to_all && s[own.plan->dim()] != own.received->part_size(from.asked.rank))
    return fmt::format("rank {} sends {} to rank {}, which expects {}", from.asked.rank,
                       s[own.plan->dim()], own.rank, own.received->part_size(from.asked.rank));
  return {};
}

// Where the bytes of a gift can go at once: into the result, where they lie there in one piece.
tensor place_in_result(request const& own, request const& from, given const& g) {
  if (!own.out.defined() || own.takes_any_shape || own.out.dtype() != g.dtype) return {};
  tensor t;
  switch (own.print.kind) {
    case op_kind::scatter:  // what is padding here is not written to
      if (own.plan->valid_size(own.rank) == own.plan->part_size(own.rank)) t = own.out;
      break;
    case op_kind::broadcast:
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
    if (d->left > 0)
      waits += fmt::format("{}bytes of rank {}", waits.empty() ? "" : ", ", d->giver());
  auto const takers = hub_->net().takers_of(exposure_);
  for (int const r : takers)
    waits += fmt::format("{}rank {} to take its part", waits.empty() ? "" : ", ", r);
  return waits;
}

std::string exchange::describe() {
  auto const& own = own_call();
  auto const ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - since_);
  return fmt::format("{} #{}: {} has met and moves for {:.0f} ms; it waits for {}", hub_->label(),
                     own.sequence, hocket::describe(own), ms.count(), waits_for());
}

void exchange::fetch_from(remote_call& from, request& own) noexcept {
  try {
    auto const fault = fault_in_gifts(own, from);
    if (fault.empty()) return fetch_all(from, own);
    hub_->net().lose(from.world_rank, fault);  // it says what no member says
    fail(make_failure(make_error_code(errc::peer_lost),
                      fmt::format("rank {} is lost: {}", from.world_rank, fault)));
  } catch (...) {
    fail(detail::failure_from(std::current_exception()));
    hub_->release_gift(from);
  }
}

void exchange::require_gift(remote_call const& from, dtype type, std::int64_t count) const {
  auto const& all = from.gives;
  if (all.size() == 1 && all[0].dtype == type && all[0].shape.numel() == count) return;
  std::string what = fmt::format("{} tensors", all.size());
  if (all.size() == 1) what = fmt::format("{}{}", name_of(all[0].dtype), to_string(all[0].shape));
  auto const fault = fmt::format("it gives {} in {}, where {} elements of {} are needed", what,
                                 hocket::describe(own_call()), count, name_of(type));
  hub_->net().lose(from.world_rank, fault);
  throw error(errc::peer_lost, fmt::format("rank {} is lost: {}", from.world_rank, fault));
}

void exchange::fetch_all(remote_call& from, request& own) {
  if (from.gives.empty() || from.is_here) return;
  if (auto const fault = misfit(own, from); !fault.empty()) throw error(errc::mismatch, fault);
  std::vector<tensor> items;
  bool is_direct = false;  // the first one, at once to its place in the result
  for (auto const& g : from.gives) {
    tensor t = items.empty() ? place_in_result(own, from.asked, g) : tensor();
    is_direct |= t.defined();
    items.push_back(t.defined() ? std::move(t) : tensor::empty(g.dtype, g.shape));
  }
  auto made = std::make_unique<delivery>(*this, from);
  auto& d = *made;
  {
    std::lock_guard const lock(mutex_);
    deliveries_.push_back(std::move(made));
    ++left_;
  }
  from.asked.in = items.front();
  from.asked.attachments.assign(items.begin() + 1, items.end());
  for (std::uint32_t item = 0; item < items.size(); ++item) {
    given const& g = from.gives[item];
    if (g.bytes() == 0) continue;
    {
      std::lock_guard const lock(mutex_);
      ++d.left;
    }
    wanted w;
    w.peer = from.world_rank;
    w.exposure = from.exposure;
    w.item = item;
    w.address = g.address;
    w.seal = from.seal;
    w.to = item == 0 && is_direct ? items[item].bytes(own.writes) : items[item].bytes();
    w.bytes = g.bytes();
    w.then = &d;
    hub_->net().fetch(w);
  }
  d.came({});
}

void exchange::fail(failure f) noexcept {
  std::lock_guard const lock(mutex_);
  if (!failure_.exception) failure_ = std::move(f);
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
    if (own.print.kind == op_kind::all_to_all) compare_sizes(own);
    for (request* const part : meeting_.parts)
      if (part->is_remote()) fetch_from(remote_call::of(*part), own);
    drain(own);
    close();
  }

 private:
  // What each member sends to each must be what that one expects: all find the same fault.
  void compare_sizes(request const& own) noexcept {
    auto const size = [&](int of, int with, bool sent) -> std::int64_t {
      request& part = *meeting_.parts[static_cast<std::size_t>(of)];
      if (!part.is_remote()) return (sent ? own.plan : own.received)->part_size(with);
      auto const& c = remote_call::of(part);
      auto const& sizes = sent ? c.sends : c.expects;
      return sizes.empty() ? -1 : sizes[static_cast<std::size_t>(with)];
    };
    int const n = static_cast<int>(meeting_.parts.size());
    for (int to = 0; to < n; ++to)
      for (int from = 0; from < n; ++from) {
        auto const sent = size(from, to, true);
        auto const expected = size(to, from, false);
        if (sent == expected || sent < 0 || expected < 0) continue;
        return fail(make_failure(make_error_code(errc::mismatch),
                                 fmt::format("rank {} sends {} to rank {}, which expects {}", from,
                                             sent, to, expected)));
      }
  }
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
    auto const outcome =
        f.exception ? matching::failure_of(recv_, f.exception)
                    : matching::outcome_of(recv_, [this] { matching::transfer(send_, recv_); });
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
