// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "fabric.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <hocket/error.hpp>
#include <hocket/log.hpp>
#include <thread>
#include <utility>

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
// Connections whose caller has not proved anything yet.
constexpr std::size_t strangers_max = 256;
constexpr auto last_word_patience = std::chrono::milliseconds(100);
constexpr auto stranger_patience = std::chrono::seconds(10);
// Windows bound what waits for a peer; one that is beyond this has stopped reading for good.
constexpr std::size_t waiting_bytes_max = 256 * 1024 * 1024;

failure lost_failure(int peer, std::string const& why) {
  return make_failure(make_error_code(errc::peer_lost),
                      fmt::format("rank {} is lost: {}", peer, why));
}

// One peer's share of an exposure, on its way.
class parcel_out final : public shipment {
 public:
  parcel_out(frame_head const& h, std::span<std::byte const> bytes, std::uint64_t from) {
    head = h;
    left = bytes;
    exposure = from;
  }
  void done() noexcept override {}
};

}  // namespace

fabric::fabric(runtime_handle rt, identity me, std::vector<io::address> const& listen_at,
               std::string host)
    : me_(std::move(me)), runtime_(std::move(rt)), host_(std::move(host)),
      poller_(io::make_poller()), forks_(forks_of_this_process()) {
  status_ = std::make_unique<status_watch>(*poller_, [this] { report_asked_ = true; });
  for (auto const& a : listen_at)
    listeners_.push_back(std::make_unique<io::listener>(
        *poller_, a, [this](io::unique_fd s, io::address const&) { accepted(std::move(s)); }));
}

void fabric::start(std::shared_ptr<directory> where, std::shared_ptr<mailbox> strangers) {
  {
    std::lock_guard const lock(mutex_);
    directory_ = std::move(where);
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

// -- connections

void fabric::accepted(io::unique_fd socket) {
  drop_silent_strangers();
  if (callers_.size() >= strangers_max + peers_.size()) return;  // closes it
  auto link = std::make_unique<in_link>(*this, me_);
  auto& at = *link;
  callers_[&at].link = std::move(link);
  poller_->add(std::move(socket), at);
}

// Who has not proved in good time that it belongs here.
void fabric::drop_silent_strangers() {
  auto const now = std::chrono::steady_clock::now();
  std::vector<in_link*> silent;
  for (auto const& [link, c] : callers_)
    if (link->peer() < 0 && now - c.since > stranger_patience) silent.push_back(link);
  for (in_link* const link : silent) drop(*link);
}

void fabric::greeted(in_link& from) {
  if (auto const gone = lost_.find(from.peer()); gone != lost_.end())
    throw error(errc::peer_lost, fmt::format("rank {} comes back, but is lost: {}", from.peer(),
                                             gone->second));
}

void fabric::ended(in_link& from, std::string const& why) {
  int const rank = from.peer();
  drop(from);
  if (rank >= 0) {
    lose_locked(rank, why);
  } else if (!why.empty()) {
    log(log_level::debug, "a connection from a stranger was closed: " + why);
  }
}

void fabric::drop(in_link& from) {
  auto const found = callers_.find(&from);
  if (found == callers_.end() || std::exchange(found->second.is_leaving, true)) return;
  poller_->remove(from, [this, at = &from] {
    auto const gone = callers_.find(at);
    dead_callers_.push_back(std::move(gone->second.link));
    callers_.erase(gone);
    if (lost_.contains(at->peer())) fail_landings(at->peer());
  });
}

bool fabric::is_calling(int rank) const {
  return std::ranges::any_of(callers_, [rank](auto const& c) { return c.first->peer() == rank; });
}

// Nobody writes to the places any more.
void fabric::fail_landings(int rank) {
  if (is_calling(rank)) return;
  for (auto at = landings_.begin(); at != landings_.end();) {
    if (at->second.peer != rank) {
      ++at;
      continue;
    }
    tell(at->second.then, lost_failure(rank, lost_.at(rank)));
    at = landings_.erase(at);
  }
}

peer& fabric::peer_at(int rank) {
  auto& p = peers_[rank];
  if (!p) {
    p = std::make_unique<peer>();
    p->link.peer = rank;
    p->link.owner = this;
    p->link.on_end = &link_ended;
    p->link.on_speak = [](out_link& link) noexcept {
      static_cast<fabric*>(link.owner)->poller_->kick(link);
    };
    dial(*p);
  }
  return *p;
}

void fabric::dial(peer& p) {
  directory_->find(p.link.peer, [weak = weak_from_this(), rank = p.link.peer](
                                    peer_place const& where, std::string const& why_not) {
    if (auto const self = weak.lock()) self->found(rank, where, why_not);
  });
}

void fabric::found(int rank, peer_place const& where, std::string const& why_not) {
  std::lock_guard const lock(mutex_);
  if (stopping_ || lost_.contains(rank)) return;
  if (!why_not.empty()) return lose_locked(rank, why_not);
  peer& p = *peers_.at(rank);
  p.place = where;
  p.is_found = true;
  p.can_read = where.host == host_;
  try_next_address(p, "");
  runtime_.wake();
}

void fabric::try_next_address(peer& p, std::string const& why) {
  p.complaints += why;
  if (p.next_address == p.place.addresses.size()) return lose_locked(p.link.peer, p.complaints);
  auto const& a = p.place.addresses[p.next_address++];
  try {
    p.calling = std::make_unique<io::connector>(
        *poller_, a, [this, &p](boost::system::error_code code, io::unique_fd socket) {
          connected(p, code, std::move(socket));
        });
  } catch (std::exception const& e) {
    lose_locked(p.link.peer, e.what());
  }
}

void fabric::connected(peer& p, boost::system::error_code why, io::unique_fd socket) {
  auto const to = p.place.addresses[p.next_address - 1].to_string();
  auto const done = std::move(p.calling);
  if (why) return try_next_address(p, fmt::format("{}: {}; ", to, why.message()));
  p.link.begin(me_);
  poller_->add(std::move(socket), p.link);
}

void fabric::link_ended(out_link& link, boost::system::error_code why) noexcept {
  auto& self = *static_cast<fabric*>(link.owner);
  auto const story = link.fault().empty() ? why.message() : link.fault();
  if (!link.is_over()) self.poller_->remove(link, [] {});
  // What the peer said before it ended may still be in the connection that it called on.
  if (self.is_calling(link.peer)) {
    self.doubts_.emplace(link.peer, doubt{story, std::chrono::steady_clock::now()});
  } else {
    self.lose_locked(link.peer, story);
  }
}

// True: the last word of somebody is still waited for.
bool fabric::settle_doubts() {
  auto const now = std::chrono::steady_clock::now();
  for (auto at = doubts_.begin(); at != doubts_.end();) {
    auto const [rank, d] = *at;
    bool const is_over = lost_.contains(rank) || now - d.since > last_word_patience;
    at = is_over ? doubts_.erase(at) : std::next(at);
    if (is_over) lose_locked(rank, d.why);
  }
  return !doubts_.empty();
}

void fabric::lose(int rank, std::string const& why) {
  {
    std::lock_guard const lock(mutex_);
    lose_locked(rank, why);
  }
  runtime_.wake();
}

void fabric::lose_locked(int rank, std::string const& why) {
  if (stopping_ || !lost_.emplace(rank, why).second) return;
  if (auto const at = peers_.find(rank); at != peers_.end()) {
    peer& p = *at->second;
    p.calling.reset();
    if (!p.link.is_over() && p.link.is_open()) poller_->remove(p.link, [] {});
    p.link.ended({});
  }
  std::vector<in_link*> calling;
  for (auto const& [link, c] : callers_)
    if (link->peer() == rank) calling.push_back(link);
  for (in_link* const link : calling) drop(*link);
  fail_landings(rank);
  std::vector<std::uint64_t> exposed;
  for (auto const& [id, e] : exposures_) exposed.push_back(id);
  for (auto const id : exposed) release_locked(id, rank, {});
  auto& r = inbox_.add();
  r.from = rank;
  r.is_loss = true;
  r.why = why;
}

// -- sending

void fabric::post(int to, letter l) {
  std::lock_guard const lock(mutex_);
  if (stopping_ || lost_.contains(to) || doubts_.contains(to)) return;
  peer& p = peer_at(to);
  p.link.send(std::move(l));
  if (p.link.is_open()) poller_->kick(p.link);
  if (auto const waiting = p.link.waiting_bytes(); waiting > waiting_bytes_max)
    lose_locked(to, fmt::format("it does not read: {} bytes wait for it", waiting));
  // A kick also reads, and nothing else would say that there is something to handle.
  if (!inbox_.empty()) runtime_.wake();
}

std::uint64_t fabric::expose(std::unique_ptr<exposure> e) {
  std::lock_guard const lock(mutex_);
  for (auto const& [rank, why] : lost_) e->release(rank);
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
    f = at->second->complaint;
    exposures_.erase(at);
    return true;
  }
  at->second->then = &then;
  return false;
}

void fabric::release(std::uint64_t id, int taker, failure complaint) {
  {
    std::lock_guard const lock(mutex_);
    release_locked(id, taker, std::move(complaint));
  }
  runtime_.wake();
}

void fabric::release_locked(std::uint64_t id, int taker, failure complaint) {
  auto const at = exposures_.find(id);
  if (at == exposures_.end() || at->second->is_drained()) return;
  exposure& e = *at->second;
  if (e.release(taker) && e.has_notes) {
    note n;
    auto const gone = lost_.find(taker);
    n.why = gone != lost_.end() ? lost_failure(taker, gone->second)
            : complaint.exception
                ? complaint
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
    reads = p.can_read && p.is_found;
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
  if (p.link.is_open()) poller_->kick(p.link);
  if (!inbox_.empty()) runtime_.wake();
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
  std::span<std::byte const> bytes;
  if (at != exposures_.end())
    bytes = at->second->bytes_for(to, static_cast<std::size_t>(head.sequence));
  peer& p = peer_at(to);
  if (head.bytes == 0 || head.handle > bytes.size() || head.bytes > bytes.size() - head.handle) {
    letter l;
    l.head.kind = frame_kind::refuse;
    l.head.tag = head.tag;
    l.head.flags = frame_flags::of_transfer;
    p.link.send(std::move(l));
  } else {
    frame_head h;
    h.kind = frame_kind::data;
    h.tag = head.tag;
    h.address = 0;
    p.link.send(std::make_unique<parcel_out>(
        h, bytes.subspan(static_cast<std::size_t>(head.handle), head.bytes), head.address));
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
        complaint = make_failure(
            make_error_code(static_cast<errc>(head.code)),
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
      return take_note(head.address, from.peer(), std::move(n));
    }
    case frame_kind::refuse:
      if (head.flags == frame_flags::of_transfer) {
        auto const at = landings_.find(head.tag);
        if (at == landings_.end() || at->second.peer != from.peer()) return;
        auto& r = inbox_.add();
        r.then = at->second.then;
        r.failure = make_failure(
            make_error_code(errc::peer_failed),
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

std::byte* fabric::landing(in_link& from, frame_head const& head) noexcept {
  auto const at = landings_.find(head.tag);
  if (at == landings_.end() || at->second.peer != from.peer() ||
      head.payload_bytes > at->second.left)
    return nullptr;
  return at->second.to;
}

void fabric::landed(in_link& from, frame_head const& head) {
  auto const at = landings_.find(head.tag);
  if (at == landings_.end() || at->second.peer != from.peer()) return;
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
