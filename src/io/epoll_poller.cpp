// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/epoll_poller.hpp"

#include <sys/epoll.h>

#include <algorithm>
#include <array>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <hocket/error.hpp>

#include "io/transfer.hpp"

namespace hocket::io {
namespace {

constexpr std::size_t bytes_a_stream = std::size_t{1} << 20;
constexpr int streams_a_turn = 1024;
constexpr int last_reads = 64;
constexpr std::uint32_t stream_events = EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET;

int control(int epoll, int operation, int fd, std::uint32_t events, void* target) noexcept {
  epoll_event e{};
  e.events = events;
  e.data.ptr = target;
  return ::epoll_ctl(epoll, operation, fd, &e);
}

}  // namespace

epoll_poller::epoll_poller() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_)
    throw error(system_code(errno), "epoll_create1: no poller for this process's sockets");
}

epoll_poller::~epoll_poller() { streams_.bury(); }

void epoll_poller::add(unique_fd socket, byte_stream& s) {
  int const fd = socket.get();
  connection& c = streams_.insert(std::move(socket), s);
  // The first event says at once what is ready.
  if (control(epoll_.get(), EPOLL_CTL_ADD, fd, stream_events, static_cast<target*>(&c)) == 0)
    return;
  int const failure = errno;
  streams_.retire(c);
  if (!in_turn_) streams_.bury();
  throw error(system_code(failure), "epoll_ctl: a socket cannot be watched");
}

void epoll_poller::remove(byte_stream& s, std::function<void()> gone) noexcept {
  if (connection* const c = streams_.find(s)) {
    c->gone = std::move(gone);
    retire(*c);
    if (!in_turn_) streams_.bury();
  } else if (gone) {
    gone();
  }
}

void epoll_poller::kick(byte_stream& s) noexcept {
  connection* const c = streams_.find(s);
  if (c == nullptr) return;
  streams_.queue(*c);
  if (in_turn_) return;
  in_turn_ = true;
  serve_queue();
  finish_turn();
}

void epoll_poller::watch(int fd, readiness what, watcher& w) {
  watched_.emplace_back(fd, w);
  std::uint32_t const events = what == readiness::readable ? EPOLLIN : EPOLLOUT;
  target* const t = &watched_.back();
  if (control(epoll_.get(), EPOLL_CTL_ADD, fd, events, t) == 0) return;
  int const failure = errno;
  watched_.pop_back();
  throw error(system_code(failure), "epoll_ctl: a descriptor cannot be watched");
}

void epoll_poller::unwatch(watcher& w) noexcept {
  for (auto& entry : watched_) {
    if (entry.to_tell != &w) continue;
    control(epoll_.get(), EPOLL_CTL_DEL, entry.fd, 0, nullptr);
    entry.to_tell = nullptr;
  }
  if (!in_turn_) finish_turn();
}

bool epoll_poller::poll() noexcept {
  if (in_turn_) return false;
  in_turn_ = true;
  std::array<epoll_event, 64> events;
  int const n = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < n; ++i) {
    auto const& event = events[static_cast<std::size_t>(i)];
    auto* const t = static_cast<target*>(event.data.ptr);
    if (t->is_stream) {
      note(static_cast<connection&>(*t), event.events);
    } else if (watcher* const w = static_cast<watched*>(t)->to_tell) {
      w->ready();
    }
  }
  bool const more = serve_queue();
  finish_turn();
  return more || n == static_cast<int>(events.size());
}

void epoll_poller::note(connection& c, std::uint32_t events) noexcept {
  if (c.retired) return;  // by a watcher earlier in this batch
  bool const broken = (events & (EPOLLERR | EPOLLHUP)) != 0;
  if (broken || (events & (EPOLLIN | EPOLLRDHUP)) != 0) c.may_read = true;
  if (broken || (events & EPOLLOUT) != 0) c.may_write = true;
  if (broken || (events & EPOLLRDHUP) != 0) c.hung_up = true;
  streams_.queue(c);
}

bool epoll_poller::serve_queue() noexcept {
  bool more = false;
  int served = 0;
  while (connection* const c = streams_.pop()) {
    bool const unfinished = ++served > streams_a_turn || serve(*c);
    if (!unfinished || c->retired) continue;
    control(epoll_.get(), EPOLL_CTL_MOD, c->fd.get(), stream_events, static_cast<target*>(c));
    more = true;
  }
  return more;
}

// True if the budget ended it, not the socket or the stream.
bool epoll_poller::serve(connection& c) noexcept {
  std::size_t to_send = bytes_a_stream, to_receive = bytes_a_stream;
  write_some(c, to_send);
  read_some(c, to_receive);
  return to_send == 0 || to_receive == 0;
}

void epoll_poller::write_some(connection& c, std::size_t& budget) noexcept {
  while (c.may_write && !c.retired && budget > 0) {
    auto const what = c.stream->to_write();
    if (byte_count(what) == 0) return;
    // A short write is no sign of a full socket; EAGAIN is, and asks for the next edge.
    auto const m = send_pieces(c.fd.get(), what);
    if (m.would_block()) {
      c.may_write = false;
    } else if (m.error != 0) {
      fail_after_reading(c, m.error);
    } else {
      budget -= std::min(budget, m.bytes);
      c.stream->written(m.bytes);
    }
  }
}

void epoll_poller::read_some(connection& c, std::size_t& budget) noexcept {
  while (c.may_read && !c.retired && budget > 0) {
    auto const where = c.stream->to_read();
    auto const room = byte_count(where);
    if (room == 0) return;
    auto const m = receive_pieces(c.fd.get(), where);
    if (m.would_block()) {
      c.may_read = false;
    } else if (m.error != 0) {
      end(c, system_code(m.error));
    } else if (m.bytes == 0) {
      end(c, boost::asio::error::eof);
    } else {
      if (m.bytes < room && !c.hung_up) c.may_read = false;  // drained; what comes is a new edge
      budget -= std::min(budget, m.bytes);
      c.stream->read(m.bytes);
    }
  }
}

void epoll_poller::fail_after_reading(connection& c, int error) noexcept {
  for (int i = 0; i < last_reads && !c.retired; ++i) {
    auto const where = c.stream->to_read();
    if (byte_count(where) == 0) break;
    auto const m = receive_pieces(c.fd.get(), where);
    if (m.bytes == 0) break;
    c.stream->read(m.bytes);
  }
  if (!c.retired) end(c, system_code(error));
}

void epoll_poller::end(connection& c, boost::system::error_code why) noexcept {
  byte_stream& s = *c.stream;
  retire(c);
  s.ended(why);
}

void epoll_poller::retire(connection& c) noexcept {
  // Closing alone leaves the socket registered if a forked child still has it.
  control(epoll_.get(), EPOLL_CTL_DEL, c.fd.get(), 0, nullptr);
  c.fd.reset();
  streams_.retire(c);
}

void epoll_poller::finish_turn() noexcept {
  in_turn_ = false;
  watched_.remove_if([](watched const& entry) { return entry.to_tell == nullptr; });
  streams_.bury();
}

}  // namespace hocket::io
