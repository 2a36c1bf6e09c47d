// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "hub.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>
#include <tuple>
#include <utility>

#include "movement.hpp"

namespace hocket::local {
namespace {

using detail::failure;
using detail::make_failure;

std::string what_of(std::exception_ptr const& e) {
  try {
    std::rethrow_exception(e);
  } catch (std::exception const& x) {
    return x.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

// Tells the hub when the mark that guards a request's buffers has come.
class buffer_watch final : public detail::continuation {
 public:
  buffer_watch(std::shared_ptr<hub> h, request& r) : hub_(std::move(h)), request_(&r) {
    continuation::run = [](continuation* c) noexcept {
      std::unique_ptr<buffer_watch> const self(static_cast<buffer_watch*>(c));
      self->hub_->buffers_ready(*self->request_, self->mark_->engine_failure());
    };
  }
  void begin(detail::op_ref mark) {
    mark_ = std::move(mark);
    mark_->when_finished(*this);
  }

 private:
  std::shared_ptr<hub> hub_;
  request* request_;
  detail::op_ref mark_;
};

// A matched message; its bytes go from the one buffer to the other.
class delivery final : public job, public detail::pooled {
 public:
  delivery(request& send, request& recv) : send_(&send), recv_(&recv) {}
  void run() noexcept override {
    std::unique_ptr<delivery> const self(this);
    failure f;
    try {
      transfer(*send_, *recv_);
    } catch (...) {
      f = detail::failure_from(std::current_exception());
    }
    recv_->complete(f);
    send_->complete(std::move(f));
  }

 private:
  request* send_;
  request* recv_;
};

}  // namespace

hub::hub(std::shared_ptr<fabric> f, group_spec const& spec)
    : fabric_(std::move(f)),
      spec_(spec),
      size_(spec.members.size()),
      label_(spec.name + to_string(spec.members)),
      gone_(static_cast<std::size_t>(size_)) {}

channel& hub::channel_at(std::uint64_t id) {
  return channels_.try_emplace(id, size_).first->second;
}

// ---------------------------------------------------------------- calls

void hub::submit(request& r) noexcept {
  bool const is_send = r.print.kind == op_kind::send;
  bool const is_recv = r.print.kind == op_kind::recv;
  if (auto const& mark = r.ready.state(); mark && !r.local.exception) {
    if (!mark->finished()) {
      r.buffers_ready = false;
    } else if (mark->engine_failure()) {
      r.local = detail::failure_from(mark->engine_failure());
    }
  }
  bool const watch = !r.buffers_ready;
  auto const mark = r.ready.state();
  detail::op_ref const keep(r.op);
  decisions d;
  {
    std::lock_guard const lock(mutex_);
    channel& c = channel_at(r.channel);
    if (!revoked_.empty()) {
      d.end(r, make_failure(make_error_code(errc::revoked), place(r) + ": " + revoked_));
    } else if (c.desynchronised.exception && !meets_in_failure(c, r)) {
      d.end(r, c.desynchronised);
    } else if (is_send) {
      post_send(c, r, d);
    } else if (is_recv) {
      post_recv(c, r, d);
    } else {
      meet(c, r, d);
    }
  }
  d.carry_out(*fabric_);
  if (watch && !r.op->finished()) (new buffer_watch(shared_from_this(), r))->begin(mark);
}

void hub::meet(channel& c, request& r, decisions& d) {
  meeting& m = c.meeting_at(r.channel, r.sequence);
  auto const rank = static_cast<std::size_t>(r.rank);
  m.came[rank] = true;
  ++m.arrived;
  if (m.failed()) {
    d.end(r, m.verdict);
  } else if (r.local.exception) {
    d.end(r, r.local);
    m.verdict = failed_peer(r);
  } else {
    m.parts[rank] = &r;
    if (!r.buffers_ready) ++m.unready;
    judge(c, m, r);
  }
  bool const out_of_step = m.out_of_step && !c.desynchronised.exception;
  if (out_of_step) desynchronise(c, m, d);
  settle_meeting(c, m, d);
}

// Later operations of the channel fail at once, also those that wait already.
void hub::desynchronise(channel& c, meeting const& m, decisions& d) {
  c.desynchronised = make_failure(make_error_code(errc::desynchronised),
                                  what_of(m.verdict.exception) +
                                      "; the channel is out of step since then: use another");
  for (std::size_t i = 0; i < c.slots().size(); ++i) {
    meeting* const later = c.slots()[i].m.get();
    if (later == nullptr || later->running || later->failed()) continue;
    later->verdict = c.desynchronised;
    for (auto& part : later->parts)
      if (part != nullptr) d.end(*std::exchange(part, nullptr), later->verdict);
  }
  auto const any = [](request const&) { return true; };
  for (auto& box : c.boxes) {
    while (request* const r = box.sends.take(any)) d.end(*r, c.desynchronised);
    while (request* const r = box.recvs.take(any)) d.end(*r, c.desynchronised);
  }
}

// The operation that was out of step tells every rank so itself; what follows refers to it.
bool hub::meets_in_failure(channel& c, request const& r) const {
  if (r.print.kind == op_kind::send || r.print.kind == op_kind::recv) return false;
  meeting const* const m = c.find(r.sequence);
  return m != nullptr && m->failed();
}

// Compares a part that has just come with one that was there, and with who can still come.
void hub::judge(channel& c, meeting& m, request const& r) {
  for (request const* other : m.parts) {
    if (other == nullptr || other == &r) continue;
    auto const found = compare(other->print, r.print);
    if (found == difference::none) break;
    bool const in_order = other->rank < r.rank;
    auto const story = fmt::format("{}: {}, {}: {}", place(r), describe(in_order ? *other : r),
                                   describe(in_order ? r : *other), hocket::describe(found));
    m.verdict = make_failure(make_error_code(errc::mismatch), story);
    m.out_of_step = found == difference::kind;
    return;
  }
  for (int rank = 0; rank < size_; ++rank) {
    auto const* const why = departure_of(c, rank);
    if (why == nullptr || m.came[static_cast<std::size_t>(rank)]) continue;
    m.verdict = absent(rank, *why, r);
    return;
  }
}

// Ends the parts of a failed meeting, starts one that is complete.
void hub::settle_meeting(channel& c, meeting& m, decisions& d) {
  if (m.failed()) {
    for (auto& part : m.parts)
      if (part != nullptr) d.end(*std::exchange(part, nullptr), m.verdict);
    int expected = 0;
    for (int rank = 0; rank < size_; ++rank)
      expected += departure_of(c, rank) == nullptr && !m.came[static_cast<std::size_t>(rank)];
    if (expected == 0) c.end(m.sequence);
    return;
  }
  if (m.arrived < size_ || m.unready > 0 || m.running) return;
  m.running = true;
  m.at = shared_from_this();
  d.run(&m, bytes_of(m.parts));
}

std::unique_ptr<meeting> hub::retire(meeting& m) noexcept {
  std::lock_guard const lock(mutex_);
  return channel_at(m.channel).end(m.sequence);
}

// ---------------------------------------------------------------- messages

void hub::post_send(channel& c, request& r, decisions& d) {
  if (r.peer == request::any_peer) return d.end(r, r.local);  // its argument named no member
  auto& box = c.boxes[static_cast<std::size_t>(r.peer)];
  if (r.local.exception) {
    if (request* const recv = box.take_recv(r.rank, r.tag)) {
      d.end(*recv, failed_peer(r));
    } else {
      box.failed.push_back({r.rank, r.tag, failed_peer(r)});
    }
    return d.end(r, r.local);
  }
  if (request* const recv = box.take_recv(r.rank, r.tag)) return pair(r, *recv, d);
  if (auto const* const why = departure_of(c, r.peer)) return d.end(r, absent(r.peer, *why, r));
  box.sends.push(r);
}

void hub::post_recv(channel& c, request& r, decisions& d) {
  auto& box = c.boxes[static_cast<std::size_t>(r.rank)];
  if (r.local.exception) {
    if (r.peer != request::any_peer)
      if (request* const send = box.take_send(r)) d.end(*send, failed_peer(r));
    return d.end(r, r.local);
  }
  if (failure why; box.take_failed(r, why)) return d.end(r, std::move(why));
  if (request* const send = box.take_send(r)) return pair(*send, r, d);
  if (r.peer != request::any_peer) {
    if (auto const* const why = departure_of(c, r.peer)) return d.end(r, absent(r.peer, *why, r));
  }
  box.recvs.push(r);
}

void hub::pair(request& send, request& recv, decisions& d) {
  if (!recv.takes_any_shape && (send.print.dtype != recv.print.dtype ||
                                send.print.count != recv.print.count)) {
    auto const f = make_failure(
        make_error_code(errc::mismatch),
        fmt::format("{}: {}, {}: {}", place(recv), describe(send), describe(recv),
                    hocket::describe(send.print.dtype != recv.print.dtype ? difference::dtype
                                                                          : difference::shape)));
    d.end(send, f);
    d.end(recv, f);
    return;
  }
  send.partner = &recv;
  recv.partner = &send;
  run_pair(send, recv, d);
}

void hub::run_pair(request& send, request& recv, decisions& d) {
  if (!send.buffers_ready || !recv.buffers_ready) return;
  d.run(new delivery(send, recv), send.in.nbytes());
}

void hub::withdraw(request& r) noexcept {
  if (r.print.kind != op_kind::recv) return;
  request* found = nullptr;
  {
    std::lock_guard const lock(mutex_);
    auto const c = channels_.find(r.channel);
    if (c == channels_.end()) return;
    found = c->second.boxes[static_cast<std::size_t>(r.rank)].recvs.take(
        [&r](request const& other) { return &other == &r; });
  }
  if (found != nullptr) found->complete(make_failure(operation_aborted(), "withdrawn"));
}

// ---------------------------------------------------------------- buffers that are not ready yet

void hub::buffers_ready(request& r, std::exception_ptr e) noexcept {
  bool const is_message = r.print.kind == op_kind::send || r.print.kind == op_kind::recv;
  decisions d;
  {
    std::lock_guard const lock(mutex_);
    if (r.op->finished()) return;
    r.buffers_ready = true;
    channel& c = channel_at(r.channel);
    if (e) r.local = detail::failure_from(e);
    if (is_message) {
      if (r.partner != nullptr && e) {
        d.end(*r.partner, failed_peer(r));
        d.end(r, r.local);
      } else if (r.partner != nullptr) {
        bool const sends = r.print.kind == op_kind::send;
        run_pair(sends ? r : *r.partner, sends ? *r.partner : r, d);
      } else if (e) {
        auto const to = static_cast<std::size_t>(r.print.kind == op_kind::send ? r.peer : r.rank);
        auto const same = [&r](request const& other) { return &other == &r; };
        if (r.print.kind == op_kind::send) {
          if (c.boxes[to].sends.take(same) != nullptr) post_send(c, r, d);
        } else if (c.boxes[to].recvs.take(same) != nullptr) {
          d.end(r, r.local);
        }
      }
    } else if (meeting* const m = c.find(r.sequence);
               m != nullptr && m->parts[static_cast<std::size_t>(r.rank)] == &r) {
      --m->unready;
      if (e) {
        m->parts[static_cast<std::size_t>(r.rank)] = nullptr;
        d.end(r, r.local);
        m->verdict = failed_peer(r);
      }
      settle_meeting(c, *m, d);
    }
  }
  d.carry_out(*fabric_);
}

// ---------------------------------------------------------------- members that go

departure const* hub::departure_of(channel const& c, int rank) const {
  auto const index = static_cast<std::size_t>(rank);
  if (gone_[index]) return &*gone_[index];
  return c.gone[index] ? &*c.gone[index] : nullptr;
}

void hub::remove_member(channel& c, int rank, decisions& d) {
  auto const* const why = departure_of(c, rank);
  for (std::size_t i = 0; i < c.slots().size(); ++i) {
    meeting* const m = c.slots()[i].m.get();
    if (m == nullptr || m->running || m->came[static_cast<std::size_t>(rank)]) continue;
    for (request const* part : m->parts) {
      if (part == nullptr || m->failed()) continue;
      m->verdict = absent(rank, *why, *part);
    }
    auto const before = c.slots().size();
    settle_meeting(c, *m, d);
    if (c.slots().size() < before) --i;
  }
  while (request* const s = c.boxes[static_cast<std::size_t>(rank)].sends.take(
             [](request const&) { return true; }))
    d.end(*s, absent(rank, *why, *s));
  int here = 0;
  for (int r = 0; r < size_; ++r) here += departure_of(c, r) == nullptr;
  for (int r = 0; r < size_; ++r) {
    bool const last = here == 0 || (here == 1 && departure_of(c, r) == nullptr);
    while (request* const w =
               c.boxes[static_cast<std::size_t>(r)].recvs.take([&](request const& x) {
                 return x.peer == rank || here == 0 || (last && x.peer == request::any_peer);
               }))
      d.end(*w, absent(rank, *why, *w));
  }
}

void hub::close_channel(int rank, std::uint64_t id) noexcept {
  decisions d;
  {
    std::lock_guard const lock(mutex_);
    channel& c = channel_at(id);
    c.gone[static_cast<std::size_t>(rank)] =
        departure{errc::group_closed, fmt::format("it closed channel {}", id)};
    remove_member(c, rank, d);
    bool all = c.slots().empty();
    for (int r = 0; r < size_; ++r) all = all && departure_of(c, r) != nullptr;
    if (all) channels_.erase(id);
  }
  d.carry_out(*fabric_);
}

void hub::leave(int rank, errc code, std::string const& reason) noexcept {
  decisions d;
  {
    std::lock_guard const lock(mutex_);
    auto& place = gone_[static_cast<std::size_t>(rank)];
    if (place) return;
    place = departure{code, reason};
    ++gone_count_;
    for (auto& [id, c] : channels_) remove_member(c, rank, d);
  }
  d.carry_out(*fabric_);
}

void hub::revoke(int rank, std::string const& reason) noexcept {
  decisions d;
  {
    std::lock_guard const lock(mutex_);
    if (!revoked_.empty()) return;
    revoked_ = fmt::format("the group was revoked by {}: {}", name_rank(rank), reason);
    auto const fail = [&](request& r) {
      d.end(r, make_failure(make_error_code(errc::revoked), place(r) + ": " + revoked_));
    };
    auto const any = [](request const&) { return true; };
    for (auto& [id, c] : channels_) {
      for (auto& s : c.slots()) {
        if (!s.m || s.m->running) continue;
        for (auto& part : s.m->parts)
          if (part != nullptr) fail(*std::exchange(part, nullptr));
      }
      for (auto& box : c.boxes) {
        while (request* const r = box.sends.take(any)) fail(*r);
        while (request* const r = box.recvs.take(any)) fail(*r);
      }
    }
  }
  d.carry_out(*fabric_);
}

// ---------------------------------------------------------------- stories

std::string hub::place(request const& r) const {
  auto text = label_;
  if (r.channel != 0) text += fmt::format(" ch {}", r.channel);
  return text + fmt::format(" #{}", r.sequence);
}

std::string hub::name_rank(int rank) const {
  int const in_world = spec_.members[group_rank(rank)].value();
  if (in_world == rank) return fmt::format("rank {}", rank);
  return fmt::format("rank {} (world rank {})", rank, in_world);
}

failure hub::absent(int rank, departure const& why, request const& r) const {
  return make_failure(make_error_code(why.code),
                      fmt::format("{}: {} cannot complete: {} is gone: {}", place(r), describe(r),
                                  name_rank(rank), why.reason));
}

failure hub::failed_peer(request const& r) const {
  return make_failure(make_error_code(errc::peer_failed),
                      fmt::format("{}: {} could not take part: {}", place(r), name_rank(r.rank),
                                  what_of(r.local.exception)));
}

std::string hub::missing(request const& r) {
  auto const after = fmt::format(
      "the deadline of {} ms passed",
      std::chrono::duration_cast<std::chrono::duration<double, std::milli>>(r.limit).count());
  std::lock_guard const lock(mutex_);
  if (r.print.kind == op_kind::send)
    return fmt::format("{}: {} has not received it (tag {})", after, name_rank(r.peer), r.tag);
  if (r.print.kind == op_kind::recv)
    return fmt::format("{}: no message with tag {} has come from {}", after, r.tag,
                       r.peer == request::any_peer ? "any rank" : name_rank(r.peer));
  auto const c = channels_.find(r.channel);
  meeting const* const m = c == channels_.end() ? nullptr : c->second.find(r.sequence);
  std::string ranks;
  for (int rank = 0; m != nullptr && rank < size_; ++rank)
    if (!m->came[static_cast<std::size_t>(rank)])
      ranks += (ranks.empty() ? "" : ", ") + name_rank(rank);
  if (ranks.empty()) return after + ": all ranks have called it, but it is not finished";
  return fmt::format("{}: not called by {}", after, ranks);
}

}  // namespace hocket::local
