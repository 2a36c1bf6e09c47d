// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/uring_poller.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <boost/asio/error.hpp>
#include <cerrno>
#include <hocket/error.hpp>
#include <hocket/log.hpp>
#include <utility>

#include "io/transfer.hpp"

namespace hocket::io {
namespace {

constexpr int streams_a_turn = 1024;
constexpr int batches_a_turn = 4;
constexpr int last_reads = 64;
constexpr std::uint64_t operation_bits = 7;
constexpr std::size_t bytes_an_operation = std::size_t{1} << 30;  // an SQE counts in 32 bits

// To be asked for again: ECANCELED, unless it was we, is the end of the thread that had asked.
bool is_passing(int result) noexcept {
  return result == -EAGAIN || result == -EINTR || result == -ECANCELED;
}

}  // namespace

uring_poller::uring_poller(unsigned entries) : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (!event_) throw error(system_code(errno), "io_uring: no eventfd to be woken by");
  auto const support = open_ring(ring_, entries);
  if (!support.usable) throw error(support.code, "io_uring: " + support.reason);
  if (int const rc = io_uring_register_eventfd(&ring_, event_.get()); rc < 0) {
    io_uring_queue_exit(&ring_);
    throw error(system_code(-rc), "io_uring_register (eventfd): refused");
  }
}

uring_poller::~uring_poller() {
  in_turn_ = true;
  for (auto& records = streams_.records(); !records.empty();) {
    connection& c = records.front();
    streams_.retire(c);
    c.cancel_wanted = true;
    streams_.queue(c);
  }
  for (auto& entry : watched_) {
    entry.to_tell = nullptr;
    entry.cancel_wanted = entry.armed;
  }
  watches_changed_ = true;
  auto const in_flight = [&] {
    return std::ranges::any_of(streams_.retired(), [](auto const& c) { return c.in_flight > 0; }) ||
           (broken_ == 0 && std::ranges::any_of(watched_, &watched::armed));
  };
  while (in_flight()) {
    ask();
    if (broken_ != 0) break_down();
    pollfd event{event_.get(), POLLIN, 0};
    if (!has_work()) ::poll(&event, 1, 10);
    clear_event();
    reap();
  }
  io_uring_queue_exit(&ring_);
  streams_.bury();
}

void uring_poller::add(unique_fd socket, byte_stream& s) {
  if (broken_ != 0) throw error(system_code(broken_), "io_uring is denied since it was set up");
  streams_.queue(streams_.insert(std::move(socket), s));
  if (!in_turn_) short_turn(false);
}

void uring_poller::remove(byte_stream& s, std::function<void()> gone) noexcept {
  if (connection* const c = streams_.find(s)) {
    c->gone = std::move(gone);
    c->cancel_wanted = true;
    streams_.retire(*c);
    streams_.queue(*c);
    if (!in_turn_) short_turn(true);
  } else if (gone) {
    gone();
  }
}

void uring_poller::kick(byte_stream& s) noexcept {
  connection* const c = streams_.find(s);
  if (c == nullptr) return;
  streams_.queue(*c);
  if (!in_turn_) short_turn(true);
}

void uring_poller::watch(int fd, readiness what, watcher& w) {
  watched_.push_back({.fd = fd, .to_tell = &w});
  watched_.back().events = what == readiness::readable ? POLLIN : POLLOUT;
  watches_changed_ = true;
  if (!in_turn_) short_turn(false);
}

void uring_poller::unwatch(watcher& w) noexcept {
  for (auto& entry : watched_) {
    if (entry.to_tell != &w) continue;
    entry.to_tell = nullptr;
    entry.cancel_wanted = entry.armed;
    watches_changed_ = true;
  }
  if (!in_turn_) short_turn(true);
}

bool uring_poller::poll() noexcept {
  if (in_turn_) return false;
  if (!has_work()) {
    clear_event();  // before the second look: what comes after it signals again
    if (!has_work()) return false;
  }
  in_turn_ = true;
  signal_completions(false);
  reap();
  ask();
  finish_turn();
  return true;
}

// A turn of a call that is not `poll`: asks the kernel at once and takes what it answers at once.
void uring_poller::short_turn(bool reap_now) noexcept {
  in_turn_ = true;
  stage();
  bool const asks = io_uring_sq_ready(&ring_) > 0;
  if (asks) {
    signal_completions(false);  // no thread need wake up for what this one takes itself
    ask();
    for (int i = 0; i < 2 && reap_now && reap(); ++i) ask();
  }
  finish_turn();
  if ((asks || streams_.has_queued()) && has_work()) ::eventfd_write(event_.get(), 1);
}

void uring_poller::finish_turn() noexcept {
  if (broken_ != 0) break_down();
  in_turn_ = false;
  signal_completions(true);
  watched_.remove_if([](watched const& w) { return w.to_tell == nullptr && !w.armed; });
  streams_.bury();
}

void uring_poller::signal_completions(bool wanted) noexcept {
  io_uring_cq_eventfd_toggle(&ring_, wanted);
  // The kernel posts, then looks at the flag; we set the flag, then look at what is posted.
  std::atomic_thread_fence(std::memory_order_seq_cst);
}

void uring_poller::clear_event() noexcept {
  eventfd_t ignored = 0;
  ::eventfd_read(event_.get(), &ignored);
}

bool uring_poller::has_work() const noexcept {
  return io_uring_cq_ready(&ring_) > 0 || io_uring_cq_has_overflow(&ring_) ||
         streams_.has_queued() || (watches_changed_ && broken_ == 0) ||
         (io_uring_sq_ready(&ring_) > 0 && broken_ == 0);
}

void uring_poller::ask() noexcept {
  stage();
  submit();
}

// Fills the submission queue with what the streams and watchers want.
void uring_poller::stage() noexcept {
  is_full_ = false;
  for (int i = 0; i < streams_a_turn && !is_full_; ++i) {
    connection* const c = streams_.pop();
    if (c == nullptr) break;
    serve(*c);
  }
  arm_watches();
}

void uring_poller::serve(connection& c) noexcept {
  if (c.cancel_wanted) cancel_all(c);
  if (c.retired || c.ending) return;
  if (!c.sending) send(c);
  if (!c.receiving) receive(c);
}

void uring_poller::send(connection& c) noexcept {
  auto const what = c.stream->to_write();
  if (byte_count(what) == 0) return;
  io_uring_sqe* const sqe = next_sqe();
  if (sqe == nullptr) return streams_.queue(c);
  if (what.size() == 1) {
    auto const& piece = what.front();
    io_uring_prep_send(sqe, c.fd.get(), piece.iov_base, std::min(piece.iov_len, bytes_an_operation),
                       MSG_NOSIGNAL);
  } else {
    c.outgoing = message_of(what);
    io_uring_prep_sendmsg(sqe, c.fd.get(), &c.outgoing, MSG_NOSIGNAL);
  }
  io_uring_sqe_set_data64(sqe, tag(&c, operation::send));
  c.sending = true;
  ++c.in_flight;
}

void uring_poller::receive(connection& c) noexcept {
  auto const where = c.stream->to_read();
  if (byte_count(where) == 0) return;
  io_uring_sqe* const sqe = next_sqe();
  if (sqe == nullptr) return streams_.queue(c);
  if (where.size() == 1) {
    auto const& piece = where.front();
    io_uring_prep_recv(sqe, c.fd.get(), piece.iov_base, std::min(piece.iov_len, bytes_an_operation),
                       0);
  } else {
    c.incoming = message_of(where);
    io_uring_prep_recvmsg(sqe, c.fd.get(), &c.incoming, 0);
  }
  io_uring_sqe_set_data64(sqe, tag(&c, operation::receive));
  c.receiving = true;
  ++c.in_flight;
}

void uring_poller::arm_watches() noexcept {
  if (!watches_changed_) return;
  watches_changed_ = false;
  for (auto& entry : watched_) {
    if (entry.to_tell != nullptr && !entry.armed) {
      io_uring_sqe* const sqe = next_sqe();
      if (sqe == nullptr) break;
      io_uring_prep_poll_add(sqe, entry.fd, entry.events);
      io_uring_sqe_set_data64(sqe, tag(&entry, operation::watch));
      entry.armed = true;
    } else if (entry.cancel_wanted) {
      entry.cancel_wanted = !cancel(tag(&entry, operation::watch));
    }
  }
  if (is_full_) watches_changed_ = true;
}

void uring_poller::cancel_all(connection& c) noexcept {
  bool done = true;
  if (c.receiving) done &= cancel(tag(&c, operation::receive));
  if (c.sending) done &= cancel(tag(&c, operation::send));
  c.cancel_wanted = !done;
  if (!done) streams_.queue(c);
}

// False if there is no room to ask for it now.
bool uring_poller::cancel(std::uint64_t user_data) noexcept {
  if (broken_ != 0) return true;
  io_uring_sqe* const sqe = next_sqe();
  if (sqe == nullptr) return false;
  io_uring_prep_cancel64(sqe, user_data, 0);
  io_uring_sqe_set_data64(sqe, tag(nullptr, operation::none));
  return true;
}

std::uint64_t uring_poller::tag(void const* target, operation o) noexcept {
  return reinterpret_cast<std::uint64_t>(target) | static_cast<std::uint64_t>(o);
}

io_uring_sqe* uring_poller::next_sqe() noexcept {
  io_uring_sqe* sqe = broken_ != 0 ? nullptr : io_uring_get_sqe(&ring_);
  if (sqe == nullptr && broken_ == 0) {
    submit();
    sqe = io_uring_get_sqe(&ring_);
  }
  if (sqe == nullptr) is_full_ = true;
  return sqe;
}

void uring_poller::submit() noexcept {
  while (broken_ == 0 && io_uring_sq_ready(&ring_) > 0) {
    int const n = io_uring_submit(&ring_);
    if (n > 0 || n == -EINTR) continue;
    // No memory, or completions to be reaped first: the rest stays in the queue for the next turn.
    if (n == 0 || n == -EAGAIN || n == -EBUSY || n == -ENOMEM) return;
    broken_ = -n;
  }
}

bool uring_poller::reap() noexcept {
  struct completion {
    std::uint64_t user_data;
    int result;
  };
  std::array<io_uring_cqe*, 64> cqes;
  std::array<completion, 64> batch;
  for (int i = 0; i < batches_a_turn; ++i) {
    unsigned const n = io_uring_peek_batch_cqe(&ring_, cqes.data(), cqes.size());
    if (n == 0) return i > 0;
    for (unsigned k = 0; k < n; ++k) batch[k] = {cqes[k]->user_data, cqes[k]->res};
    io_uring_cq_advance(&ring_, n);
    for (unsigned k = 0; k < n; ++k) complete(batch[k].user_data, batch[k].result);
  }
  return true;
}

void uring_poller::complete(std::uint64_t user_data, int result) noexcept {
  auto* const target = reinterpret_cast<void*>(user_data & ~operation_bits);
  switch (static_cast<operation>(user_data & operation_bits)) {
    case operation::none:
      return;
    case operation::receive:
      return complete_receive(*static_cast<connection*>(target), result);
    case operation::send:
      return complete_send(*static_cast<connection*>(target), result);
    case operation::watch:
      return complete_watch(*static_cast<watched*>(target), result);
  }
}

void uring_poller::complete_send(connection& c, int result) noexcept {
  c.sending = false;
  --c.in_flight;
  if (c.retired) return;
  if (c.ending) return end_if_idle(c);
  if (result < 0 && !is_passing(result)) {
    c.read_on = true;
    return start_end(c, system_code(-result));
  }
  if (result > 0) c.stream->written(static_cast<std::size_t>(result));
  if (!c.retired) streams_.queue(c);
}

void uring_poller::complete_receive(connection& c, int result) noexcept {
  c.receiving = false;
  --c.in_flight;
  if (c.retired) return;
  if (result > 0 && (!c.ending || c.read_on)) c.stream->read(static_cast<std::size_t>(result));
  if (c.retired) return;
  if (c.ending) return end_if_idle(c);
  if (result == 0) return start_end(c, boost::asio::error::eof);
  if (result < 0 && !is_passing(result)) return start_end(c, system_code(-result));
  streams_.queue(c);
}

void uring_poller::complete_watch(watched& entry, int result) noexcept {
  entry.armed = false;
  if (entry.to_tell == nullptr) return;
  watches_changed_ = true;
  if (!is_passing(result)) entry.to_tell->ready();
}

void uring_poller::start_end(connection& c, boost::system::error_code why) noexcept {
  c.ending = true;
  c.why = why;
  cancel_all(c);
  end_if_idle(c);
}

void uring_poller::end_if_idle(connection& c) noexcept {
  if (c.in_flight != 0) return;
  for (int i = 0; i < last_reads && c.read_on && !c.retired; ++i) {
    auto const where = c.stream->to_read();
    if (byte_count(where) == 0) break;
    auto const m = receive_pieces(c.fd.get(), where);
    if (m.bytes == 0) break;
    c.stream->read(m.bytes);
  }
  if (c.retired) return;
  c.fd.reset();
  streams_.retire(c);
  c.stream->ended(c.why);
}

// The kernel takes no more requests, as when a seccomp filter came after the set-up. What it has
// already completes when the sockets are shut down; what is still in the queue never will.
void uring_poller::break_down() noexcept {
  if (std::exchange(is_broken_down_, true)) return;
  log(log_level::error, fmt::format("io_uring was denied while in use: {}; its {} streams end",
                                    system_code(broken_).message(), streams_.records().size()));
  for (auto* const list : {&streams_.records(), &streams_.retired()})
    for (auto& c : *list) ::shutdown(c.fd.get(), SHUT_RDWR);
  for (auto& c : streams_.records()) {
    if (!c.ending) c.why = system_code(broken_);
    c.ending = true;
  }
  for (unsigned i = *ring_.sq.khead; i != ring_.sq.sqe_tail; ++i)
    complete(ring_.sq.sqes[i & ring_.sq.ring_mask].user_data, -broken_);
  auto& streams = streams_.records();
  for (auto c = streams.begin(); c != streams.end();) {
    bool const idle = c->in_flight == 0;
    if (idle) end_if_idle(*c);
    c = idle ? streams.begin() : std::next(c);  // its owner may have removed others
  }
}

}  // namespace hocket::io
