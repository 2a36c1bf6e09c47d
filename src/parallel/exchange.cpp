// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "exchange.hpp"

#include <algorithm>
#include <deque>
#include <exception>
#include <tuple>
#include <utility>

namespace hocket::detail {
namespace {

// Views of a block that are small enough, in row-major order.
template <class F>
void for_each_chunk(tensor const& t, F& f) {
  if (t.nbytes() <= exchange::chunk_bytes_max) return f(t);
  std::int64_t dim = 0;  // the outermost that can be cut
  while (t.size(dim) == 1) ++dim;
  auto const half = t.size(dim) / 2;
  for_each_chunk(t.slice(dim, 0, half), f);
  for_each_chunk(t.slice(dim, half, t.size(dim) - half), f);
}

class flight {
 public:
  flight(work<> w, std::size_t b) : done(std::move(w)), bytes(b) {}
  work<> done;
  std::size_t bytes;
};

}  // namespace

exchange::exchange(process_group g, op_options o, std::uint64_t tag, std::source_location site)
    : group_(std::move(g)),
      options_(std::move(o)),
      site_(site),
      chunks_to_(static_cast<std::size_t>(group_.size())),
      chunks_from_(chunks_to_.size()) {
  options_.tag(tag);
}

void exchange::send(tensor const& t, world_rank to) { add(t, to, true); }

void exchange::recv(tensor const& t, world_rank from) {
  add(t, from, false);
  bytes_received_ += t.nbytes();
}

void exchange::add(tensor const& t, world_rank peer, bool sends) {
  auto const place = group_.place_of(peer);
  int const n = group_.size();
  int const ahead = (place.value() - group_.rank().value() + n) % n;
  int const distance = sends ? ahead : (n - ahead) % n;  // of the receiver from the sender
  auto& chunk = (sends ? chunks_to_ : chunks_from_)[static_cast<std::size_t>(place.value())];
  auto const append = [&](tensor const& part) {
    messages_.emplace_back(distance, chunk++, sends, place, part);
  };
  for_each_chunk(t, append);
}

work<> exchange::start(message const& m) {
  return m.sends ? group_.send(m.buffer, m.peer, options_, site_)
                 : group_.recv(m.buffer, m.peer, options_, site_);
}

boost::asio::awaitable<void> exchange::run() {
  std::ranges::sort(messages_, {},
                    [](message const& m) { return std::tuple(m.distance, m.chunk, m.sends); });
  std::deque<flight> flying;
  std::size_t bytes = 0;
  std::exception_ptr failure;
  auto next = messages_.begin();
  while (next != messages_.end() || !flying.empty()) {
    bool const more = next != messages_.end() && !failure;
    if (more && (flying.empty() || bytes + next->buffer.nbytes() <= flying_max)) {
      flying.emplace_back(start(*next), next->buffer.nbytes());
      bytes += flying.back().bytes;
      next->buffer = tensor();  // the operation has it
      ++next;
      continue;
    }
    if (flying.empty()) break;
    auto done = std::move(flying.front().done);
    bytes -= flying.front().bytes;
    flying.pop_front();
    try {
      co_await std::move(done);
    } catch (...) {
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace hocket::detail
