// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What other members say.
#include <fmt/format.h>

#include <hocket/error.hpp>
#include <utility>
#include <vector>

#include "announcement.hpp"
#include "engine/matching/movement.hpp"
#include "host_hub.hpp"
#include "notice.hpp"
#include "wire.hpp"

namespace hocket::host {

using detail::failure;
using detail::make_failure;

void host_hub::receive(int from, frame_head const& head, std::span<std::byte const> extra,
                       std::span<std::byte const> payload) {
  int const who = head.rank;
  if (who < 0 || who >= spec_.members.size() || world_rank_of(who) != from)
    throw error(errc::corrupt, fmt::format("a {} frame of group {} says that it is from rank {}",
                                           name_of(head.kind), label(), who));
  switch (head.kind) {
    case frame_kind::call:
    case frame_kind::failed:
      return take_call(who, head, extra, payload);
    case frame_kind::mark:
      return take_mark(who, head, extra, payload);
    case frame_kind::outcome:
      return take_outcome(who, head, extra);
    case frame_kind::close_channel:
      if (head.channel == 0) throw error(errc::corrupt, "channel 0 is the group and is not closed");
      return close_channel(who, head.channel);
    case frame_kind::revoke:
      if (head.root < 0 || head.root >= spec_.members.size())
        throw error(errc::corrupt,
                    fmt::format("revoked by rank {} of {}", head.root, spec_.members.size()));
      return take_revoke(head.root, text_of(extra));
    case frame_kind::gave_up:
      return give_up(who, head.channel, head.sequence,
                     head.code == static_cast<std::uint32_t>(errc::timed_out));
    case frame_kind::leave:
      return leave(who, code_of_wire(head.code), text_of(extra));
    default:
      throw error(errc::corrupt, fmt::format("a {} frame of a group", name_of(head.kind)));
  }
}

void host_hub::take_call(int who, frame_head const& head, std::span<std::byte const> extra,
                         std::span<std::byte const> payload) {
  auto c = read_announcement(head, extra, payload, label(), spec_.members.size());
  c->world_rank = world_rank_of(who);
  request& r = c->asked;
  r.peer = place();
  if (is_recv(r.print.kind)) throw error(errc::corrupt, "a receive is not announced");
  if (!is_send(r.print.kind) && !can_meet(r))
    throw error(errc::corrupt, fmt::format("{} #{} of channel {} is announced twice or too early",
                                           name_of(r.print.kind), r.sequence, r.channel));
  if (!r.buffers_ready) {
    std::lock_guard const lock(marks_mutex_);
    if (!marked_.try_emplace({who, head.handle}, c).second)
      throw error(errc::corrupt, fmt::format("handle {} names two marked calls", head.handle));
  }
  c.detach();  // the matching's, until it is complete
  submit(r);
}

void host_hub::take_mark(int who, frame_head const& head, std::span<std::byte const> extra,
                         std::span<std::byte const> payload) {
  boost::intrusive_ptr<remote_call> c;
  {
    std::lock_guard const lock(marks_mutex_);
    auto const at = marked_.find({who, head.handle});
    if (at == marked_.end())
      throw error(errc::corrupt, fmt::format("handle {} names no marked call", head.handle));
    c = std::move(at->second);
    marked_.erase(at);
  }
  if (head.code != 0) {
    auto const f =
        make_failure(make_error_code(code_of_wire(head.code)), byte_reader(extra).take_text());
    return buffers_ready(c->asked, f.exception);
  }
  auto told = read_mark(head, extra, payload);
  if (unless_decided(c->asked, [&] { std::move(told).move_to(*c); }))
    return buffers_ready(c->asked, nullptr);
  if (told.gives.empty() || told.is_here || is_send(c->asked.print.kind)) return;
  fabric_->post(c->world_rank, fetched(told.exposure));
}

void host_hub::take_outcome(int who, frame_head const& head, std::span<std::byte const> extra) {
  request* r = nullptr;
  failure f;
  {
    std::lock_guard const lock(sends_mutex_);
    auto const at = sends_.find(head.handle);
    if (at == sends_.end() || at->second->peer != who) return;
    r = at->second;
    if (head.flags != 0) f = make_failure(make_error_code(code_of_wire(head.code)), text_of(extra));
    sends_.erase(at);
  }
  hide(*r);
  r->complete(std::move(f));
}

}  // namespace hocket::host
