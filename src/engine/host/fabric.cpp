// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "fabric.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <hocket/error.hpp>
#include <hocket/log.hpp>
#include <string_view>
#include <thread>
#include <utility>

#include "announcement.hpp"
#include "forks.hpp"
#include "memory_reader.hpp"

namespace hocket::host {
namespace {

using detail::failure;
using detail::make_failure;

// Copies that take less time than waking the progress thread does.
constexpr std::size_t inline_read_max = 128 * 1024;
// So much is read in one turn, so that other peers get theirs.
constexpr std::size_t read_bytes_a_turn = 1024 * 1024;
// Windows bound what waits for a peer; one that is beyond this has stopped reading for good.
constexpr std::size_t waiting_bytes_max = 256 * 1024 * 1024;

// One peer's share of an exposure, on its way. Holds the memory: a peer may say that it needs no
// more of it before it has all.
class parcel_out final : public shipment {
 public:
  parcel_out(frame_head const& h, std::uint64_t of, tensor from, std::size_t start,
             std::size_t bytes)
      : from_(std::move(from)) {
    head = h;
    exposure = of;
    left = {from_.const_bytes() + start, bytes};
  }
  void done() noexcept override {}

 private:
  tensor const from_;
};

bool may_read_memory() {
  char const* const value = std::getenv("HOCKET_HOST_READ");
  std::string_view const wanted = value == nullptr ? "auto" : value;
  if (wanted == "auto" || wanted.empty()) return true;
  if (wanted == "off") return false;
  throw error(errc::invalid_argument,
              fmt::format("HOCKET_HOST_READ is '{}'; it may be auto or off", wanted));
}

}  // namespace

fabric::fabric(runtime_handle rt, identity me, std::vector<io::address> const& listen_at,
               std::string host)
    : me_(std::move(me)),
      runtime_(std::move(rt)),
      host_(std::move(host)),
      reads_memory_(may_read_memory()),
      poller_(io::make_poller()),
      forks_(forks_of_this_process()) {
  if (reads_memory_) permit_siblings_to_read();
  status_ = std::make_unique<status_watch>(*poller_, [this] { report_asked_ = true; });
  for (auto const& a : listen_at)
    listeners_.push_back(std::make_unique<io::listener>(
        *poller_, a, [this](io::unique_fd s, io::address const&) { accepted(std::move(s)); }));
}

void fabric::start(std::vector<peer_place> where, std::shared_ptr<mailbox> strangers) {
  {
    std::lock_guard const lock(mutex_);
    places_ = std::move(where);
    strangers_ = std::move(strangers);
  }
  runtime_.attach(*this);
}

peer_place fabric::place() const {
  peer_place p;
  for (auto const& l : listeners_) p.addresses.push_back(l->where());
  p.host = host_;
  p.process = ::getpid();
  p.seal = address_of_seal();
  return p;
}

// -- sending

void fabric::post(int to, letter l) {
  std::lock_guard const lock(mutex_);
  bool const has_begun = !places_.empty();
  if (!has_begun || stopping_ || lost_.contains(to) || doubts_.contains(to)) return;
  peer& p = peer_at(to);
  p.link.send(std::move(l));
  speak(p);
  if (auto const waiting = p.link.waiting_bytes(); waiting > waiting_bytes_max) {
    lose_locked(to, fmt::format("it does not read: {} bytes wait for it", waiting));
    runtime_.wake();
  }
}

// A turn of io_uring also takes what has arrived elsewhere: somebody has to hand that on.
void fabric::speak(peer& p) {
  if (!p.link.is_open()) return;
  poller_->kick(p.link);
  if (!inbox_.empty()) runtime_.wake();
}

std::uint64_t fabric::expose(std::unique_ptr<exposure> e) {
  std::lock_guard const lock(mutex_);
  for (auto const& [rank, why] : lost_) {
    if (!e->release(rank) || !e->has_notes) continue;
    note n;
    n.why = lost_failure(rank, why);
    e->notes.emplace_back(rank, std::move(n));
  }
  if (e->is_drained() || stopping_) return 0;
  auto const id = next_id_++;
  exposures_.emplace(id, std::move(e));
  return id;
}

bool fabric::is_drained(std::uint64_t id, arrival& then, failure& f) {
  if (id == 0) return true;
  std::lock_guard const lock(mutex_);
  auto const at = exposures_.find(id);
  if (at == exposures_.end()) return true;
  if (at->second->is_drained()) {
    if (at->second->listener == nullptr) decline_notes(*at->second);
    f = at->second->complaint;
    exposures_.erase(at);
    return true;
  }
  if (at->second->listener == nullptr) decline_notes(*at->second);
  at->second->then = &then;
  return false;
}

void fabric::conceal(std::uint64_t id) {
  std::unique_ptr<exposure> last;  // let go after the lock
  std::lock_guard const lock(mutex_);
  auto const at = exposures_.find(id);
  if (at == exposures_.end()) return;
  last = std::move(at->second);
  exposures_.erase(at);
  for (int const taker : last->takers()) stop_sending(id, taker);
}

// Under the lock: the owner may reuse the bytes. A taker that had them all waits for none.
void fabric::stop_sending(std::uint64_t id, int taker) {
  auto const at = peers_.find(taker);
  if (at == peers_.end() || at->second->link.is_over()) return;
  at->second->link.recall(id);
  if (at->second->link.is_open()) poller_->kick(at->second->link);
}

void fabric::release_locked(std::uint64_t id, int taker, failure complaint) {
  auto const at = exposures_.find(id);
  if (at == exposures_.end() || at->second->is_drained()) return;
  exposure& e = *at->second;
  if (!e.release(taker)) return;
  stop_sending(id, taker);
  if (e.has_notes) {
    note n;
    auto const gone = lost_.find(taker);
    n.why = gone != lost_.end()   ? lost_failure(taker, gone->second)
            : complaint.exception ? complaint
                                  : make_failure(make_error_code(errc::peer_failed),
                                                 fmt::format("rank {} has not taken part", taker));
    take_note(id, taker, std::move(n));
  }
  if (complaint.exception && !e.complaint.exception) e.complaint = std::move(complaint);
  if (!e.is_drained() || e.then == nullptr) return;
  auto& r = inbox_.add();
  r.then = e.then;
  r.failure = e.complaint;
  exposures_.erase(at);
}

// -- fetching

void fabric::fetch(wanted const& want) noexcept {
  bool reads = false;
  {
    std::lock_guard const lock(mutex_);
    if (stopping_)
      return tell(want.then, make_failure(make_error_code(errc::group_closed),
                                          fmt::format("rank {} has left its world", me_.rank)));
    if (auto const gone = lost_.find(want.peer); gone != lost_.end()) {
      tell(want.then, lost_failure(want.peer, gone->second));
      runtime_.wake();
      return;
    }
    peer& p = peer_at(want.peer);
    reads = p.can_read;
    if (!reads) return push(want);
    if (want.bytes > inline_read_max && runtime_.has_thread()) {
      readings_.push_back({want, 0, {}});
      runtime_.wake();
      return;
    }
  }
  reading r{want, 0, {}};
  while (read_some(r)) {
  }
}

// Under the lock: the peer sends the bytes.
void fabric::push(wanted const& want) {
  auto const id = next_id_++;
  landings_.emplace(id, target{want.peer, want.to, want.bytes, want.then, {}});
  letter l;
  l.head.kind = frame_kind::fetch;
  l.head.tag = id;
  l.head.address = want.exposure;
  l.head.sequence = want.item;
  l.head.bytes = want.bytes;
  l.head.handle = want.offset;
  peer& p = peer_at(want.peer);
  p.link.send(std::move(l));
  speak(p);
}

// True: there is more to read.
bool fabric::read_some(reading& r) noexcept {
  foreign_bytes from;
  from.bytes = std::min(r.what.bytes - r.done, read_bytes_a_turn);
  from.address = r.what.address + r.done;
  {
    std::lock_guard const lock(mutex_);
    peer const& p = peer_at(r.what.peer);
    from.process = p.place.process;
    from.seal_address = p.place.seal;
  }
  std::uint32_t seal = 0;
  auto const code = read_memory(from, r.what.to + r.done, seal);
  if (code || seal != r.what.seal) {
    std::lock_guard const lock(mutex_);
    read_failed(r, code);
    return false;
  }
  r.done += from.bytes;
  if (r.done < r.what.bytes) return true;
  r.what.then->came({});
  return false;
}

// Not permitted; or the peer is going, or has taken memory back: it knows whether it was this.
void fabric::read_failed(reading const& r, boost::system::error_code why) {
  peer& p = peer_at(r.what.peer);
  bool const refused = why == boost::system::errc::operation_not_permitted ||
                       why == boost::system::errc::function_not_supported;
  if (refused && std::exchange(p.can_read, false))
    log(log_level::info,
        fmt::format("the memory of rank {} cannot be read ({}): its bytes come over a socket",
                    r.what.peer, why.message()));
  if (r.cancelled.exception) {
    tell(r.what.then, r.cancelled);
  } else if (auto const gone = lost_.find(r.what.peer); gone != lost_.end()) {
    tell(r.what.then, lost_failure(r.what.peer, gone->second));
  } else {
    push(r.what);
  }
  runtime_.wake();
}

// A peer wants bytes of an exposure.
void fabric::serve(int to, frame_head const& head) {
  auto const at = exposures_.find(head.address);
  tensor item;
  if (at != exposures_.end())
    item = at->second->item_for(to, static_cast<std::size_t>(head.sequence));
  peer& p = peer_at(to);
  if (p.link.waiting_bytes() > waiting_bytes_max)
    throw error(errc::corrupt, fmt::format("it asks for bytes and does not read: {} bytes wait",
                                           p.link.waiting_bytes()));
  if (!item.defined() || head.bytes == 0 || head.handle > item.nbytes() ||
      head.bytes > item.nbytes() - head.handle) {
    letter l;
    l.head.kind = frame_kind::refuse;
    l.head.tag = head.tag;
    l.head.flags = frame_flags::of_transfer;
    p.link.send(std::move(l));
  } else {
    frame_head h;
    h.kind = frame_kind::data;
    h.tag = head.tag;
    p.link.send(std::make_unique<parcel_out>(h, head.address, std::move(item),
                                             static_cast<std::size_t>(head.handle), head.bytes));
  }
  if (p.link.is_open()) poller_->kick(p.link);
}

// -- receiving

void fabric::arrived(in_link& from, frame_head const& head, std::span<std::byte const> extra,
                     std::span<std::byte const> payload) {
  switch (head.kind) {
    case frame_kind::fetch:
      return serve(from.peer(), head);
    case frame_kind::fetched: {
      failure complaint;
      if (head.code != 0)
        complaint =
            make_failure(make_error_code(code_of_wire(head.code)),
                         std::string(reinterpret_cast<char const*>(extra.data()), extra.size()));
      return release_locked(head.address, from.peer(), std::move(complaint));
    }
    case frame_kind::ready: {
      note n;
      n.exposure = head.handle;
      n.address = head.tag;
      n.seal = head.code;
      if (head.flags != 0)
        n.why = make_failure(
            make_error_code(errc::peer_failed),
            fmt::format("rank {} has failed: {}", from.peer(),
                        std::string(reinterpret_cast<char const*>(extra.data()), extra.size())));
      auto const at = exposures_.find(head.address);
      if (at == exposures_.end() || !at->second->has_notes) {  // the call has ended here
        decline(from.peer(), n);
        return release_locked(head.address, from.peer(), {});
      }
      if (!at->second->release(from.peer()))
        throw error(errc::corrupt, "a rank says twice that it is ready");
      stop_sending(head.address, from.peer());
      return take_note(head.address, from.peer(), std::move(n));
    }
    case frame_kind::refuse:
      if (head.flags == frame_flags::of_transfer) {
        auto const at = landings_.find(head.tag);
        if (at == landings_.end() || at->second.peer != from.peer()) return;
        auto& r = inbox_.add();
        r.then = at->second.then;
        r.failure =
            make_failure(make_error_code(errc::peer_failed),
                         fmt::format("rank {} no longer has what it announced", from.peer()));
        landings_.erase(at);
        return;
      }
      break;
    default:
      break;
  }
  auto& r = inbox_.add();
  r.from = from.peer();
  r.head = head;
  r.body.assign(extra.begin(), extra.end());
  r.body.insert(r.body.end(), payload.begin(), payload.end());
}

// Nowhere: the transfer was cancelled here before all of it came.
std::byte* fabric::landing(in_link& from, frame_head const& head) {
  if (head.tag >= next_id_ || head.payload_bytes == 0)
    throw error(errc::corrupt, fmt::format("{} bytes of data of transfer {}, and {} were asked for",
                                           head.payload_bytes, head.tag, next_id_ - 1));
  auto const at = landings_.find(head.tag);
  if (at == landings_.end()) return nullptr;
  if (at->second.peer != from.peer())
    throw error(errc::corrupt, fmt::format("data of transfer {}, which rank {} was asked for",
                                           head.tag, at->second.peer));
  if (head.payload_bytes > at->second.left)
    throw error(errc::corrupt, fmt::format("{} bytes of data where {} are left to come",
                                           head.payload_bytes, at->second.left));
  return at->second.to;
}

void fabric::landed(in_link& from, frame_head const& head) {
  auto const at = landings_.find(head.tag);
  if (at == landings_.end() || at->second.peer != from.peer() ||
      head.payload_bytes > at->second.left)
    return;
  at->second.to += head.payload_bytes;
  at->second.left -= head.payload_bytes;
  if (at->second.left > 0 && !at->second.cancelled.exception) return;
  tell(at->second.then, at->second.cancelled);
  landings_.erase(at);
}

void fabric::enlist(std::uint64_t group, std::shared_ptr<mailbox> at) {
  std::lock_guard const lock(mutex_);
  groups_[group] = std::move(at);
}

void fabric::delist(std::uint64_t group) noexcept {
  std::shared_ptr<mailbox> last;  // let go after the lock
  std::lock_guard const lock(mutex_);
  auto const at = groups_.find(group);
  if (at == groups_.end()) return;
  last = std::move(at->second);
  groups_.erase(at);
}

bool fabric::progress() noexcept {
  auto const keep = weak_from_this().lock();
  bool more = false;
  {
    std::lock_guard const lock(mutex_);
    if (stopping_) return false;
    dead_callers_.clear();
    more = poller_->poll();
    more |= settle_doubts();
  }
  if (report_asked_.exchange(false)) report(log_level::warning);
  more |= deliver();
  more |= do_chore();
  reading r;
  {
    std::lock_guard const lock(mutex_);
    if (readings_.empty()) return more || !inbox_.empty() || !chores_.empty();
    r = std::move(readings_.front());
    readings_.erase(readings_.begin());
    being_read_ = &r;
  }
  bool const unfinished = read_some(r);
  std::lock_guard const lock(mutex_);
  being_read_ = nullptr;
  if (unfinished && r.cancelled.exception) {
    tell(r.what.then, r.cancelled);
  } else if (unfinished) {
    readings_.push_back(std::move(r));
  }
  return true;
}

// What has come is handled under no lock. True: there was something.
bool fabric::deliver() noexcept {
  {
    std::lock_guard const lock(mutex_);
    swap(inbox_, handling_);
  }
  bool const any = !handling_.empty();
  for (auto& what : handling_.items()) handle(what);
  handling_.clear();
  return any;
}

void fabric::handle(received& what) noexcept {
  try {
    if (what.then != nullptr) return what.then->came(what.failure);
    if (what.listener != nullptr) return what.listener->noted(what.from, what.said);
    std::vector<std::shared_ptr<mailbox>> boxes;
    {
      std::lock_guard const lock(mutex_);
      if (what.is_loss) {
        for (auto const& [id, box] : groups_) boxes.push_back(box);
        boxes.push_back(strangers_);
      } else if (what.head.kind == frame_kind::join || what.head.kind == frame_kind::refuse) {
        boxes.push_back(strangers_);
      } else if (auto const at = groups_.find(what.head.group); at != groups_.end()) {
        boxes.push_back(at->second);
      }
    }
    std::span<std::byte const> const body(what.body);
    for (auto const& box : boxes) {
      if (!box) continue;
      if (what.is_loss) {
        box->lost(what.from, what.why);
      } else {
        box->receive(what.from, what.head, body.first(what.head.extra_bytes),
                     body.subspan(what.head.extra_bytes));
      }
    }
  } catch (std::exception const& e) {
    lose(what.from, e.what());  // it says what no member says
  }
}

}  // namespace hocket::host
