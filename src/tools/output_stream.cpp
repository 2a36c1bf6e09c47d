// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "output_stream.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <hocket/detail/assert.hpp>

namespace hocket::tools {
namespace {

// More than any pipe holds, in case a stranger was handed an end and goes on writing.
constexpr int pieces_max = 64;

}  // namespace

output_stream::output_stream(int to, std::size_t ranks, bool labelled, std::size_t first)
    : to_(to), relay_(ranks, labelled, first), from_(ranks) {}

void output_stream::add(std::size_t rank, unique_fd from) { from_[rank] = std::move(from); }

void output_stream::watch_for(std::vector<pollfd>& all) const {
  all.push_back({relay_.output().empty() ? -1 : to_, POLLOUT, 0});
  for (std::size_t rank = 0; rank < from_.size(); ++rank)
    all.push_back({relay_.wants(rank) ? from_[rank].get() : -1, POLLIN, 0});
}

void output_stream::serve(std::span<pollfd const> ready) {
  HOCKET_ASSERT(ready.size() == from_.size() + 1);
  for (std::size_t rank = 0; rank < from_.size(); ++rank)
    if (ready[rank + 1].revents != 0 && from_[rank] && relay_.wants(rank)) read_some(rank);
  if (auto const at = wakes_at(); at && clock::now() >= *at) relay_.break_line();
  write_some();
}

std::optional<output_stream::clock::time_point> output_stream::wakes_at() const {
  if (!relay_.output().empty() || !relay_.is_held_up()) return std::nullopt;
  return owner_spoke_ + silence_max;
}

void output_stream::read_some(std::size_t rank) {
  std::array<char, std::size_t{64} << 10> buffer;
  auto const got = ::read(from_[rank].get(), buffer.data(), buffer.size());
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (got <= 0) {
    from_[rank].reset();
    relay_.close(rank);
    return;
  }
  std::string_view const bytes(buffer.data(), static_cast<std::size_t>(got));
  if (watch_) watch_(rank, bytes);
  relay_.push(rank, bytes);
  if (relay_.owner() == rank) owner_spoke_ = clock::now();
}

// The descriptor is shared with others, so it is not made non-blocking: what poll calls writable
// takes PIPE_BUF bytes at once.
void output_stream::write_some() {
  while (!relay_.output().empty()) {
    if (is_broken_) {
      relay_.consume(relay_.output().size());
      continue;
    }
    pollfd room{to_, POLLOUT, 0};
    if (::poll(&room, 1, 0) <= 0) return;
    auto const bytes = relay_.output().substr(0, PIPE_BUF);
    auto const put = ::write(to_, bytes.data(), bytes.size());
    if (put >= 0)
      relay_.consume(static_cast<std::size_t>(put));
    else if (errno == EAGAIN || errno == EINTR)
      return;
    else
      abandon(errno);
  }
}

void output_stream::abandon(int code) {
  is_broken_ = true;
  if (code != EPIPE) failure_ = code;
  for (std::size_t rank = 0; rank < from_.size(); ++rank) {
    if (!from_[rank]) continue;
    from_[rank].reset();
    relay_.close(rank);
  }
}

void output_stream::finish() {
  for (std::size_t rank = 0; rank < from_.size(); ++rank) {
    if (!from_[rank]) continue;
    pollfd more{from_[rank].get(), POLLIN, 0};
    for (int i = 0; i < pieces_max && from_[rank] && ::poll(&more, 1, 0) > 0; ++i) read_some(rank);
    if (!from_[rank]) continue;
    from_[rank].reset();
    relay_.close(rank);
  }
  write_some();
}

bool output_stream::is_done() const {
  return relay_.output().empty() &&
         std::ranges::none_of(from_, [](auto const& fd) { return static_cast<bool>(fd); });
}

}  // namespace hocket::tools
