// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Ranks that work on one stage together start and end each request alike. The first of them
// decides: it gives turns, hears how the calls ended, and says how the request goes on. Without
// that, one rank might wait in a collective for another that works on a different request.
#include <algorithm>
#include <utility>

#include "pipeline_core.hpp"

namespace hocket::detail {

namespace asio = boost::asio;

asio::awaitable<void> pipeline_core::agree(core_ptr self, item_ptr item) {
  if (self->leads()) {
    if (item->has_turn && item->end.is_early()) self->tell_kill(*item);
    if (item->answers_missing > 0) {
      item->agreed.emplace(self->home_, self->site_);
      auto all = item->agreed->get_work();
      co_await std::move(all);
    }
    item->is_leaving = true;  // nothing changes how it goes on
    hop h(hop_kind::verdict, item->id);
    h.end = item->end;
    self->tell_peers(h);
  } else if (!item->has_verdict) {
    hop h(hop_kind::ended, item->id);
    h.end = item->end;
    item->agreed.emplace(self->home_, self->site_);
    auto known = item->agreed->get_work();
    self->tell_leader(h);
    co_await std::move(known);
  }
  if (item->end.is_early()) item->output = tensor();
}

asio::awaitable<void> pipeline_core::listen_to_peers(core_ptr self) {
  op_options o;
  o.tag(tag_of(word_tag, 0)).no_deadline();
  int speakers = self->leads() ? self->peers_.size() - 1 : 1;
  source const from = self->leads() ? any_source : source(group_rank(0));
  while (speakers > 0) {
    auto coming = self->peers_.recv_object<hop>(from, o, self->site_);
    auto const h = co_await std::move(coming);
    if (h.kind == hop_kind::close) --speakers;
    if (h.kind != hop_kind::close) self->take_from_peer(h);
  }
}

void pipeline_core::take_from_peer(hop const& h) {
  if (h.kind == hop_kind::cancel) return cancel(h.id);
  if (h.kind == hop_kind::run) {
    granted_.push_back(h.id);
    return schedule();
  }
  auto const at = items_.find(h.id);
  if (at == items_.end()) {
    early_[h.id].push_back(h);
  } else if (h.kind == hop_kind::ended) {
    ended_at_peer(*at->second, h);
  } else {
    follow(*at->second, h);
  }
}

void pipeline_core::give_granted_turns() {
  while (!granted_.empty() && running_ < options_.concurrent()) {
    auto const at = items_.find(granted_.front());
    if (at == items_.end()) return;  // it is on its way from the stage before
    granted_.pop_front();
    if (std::ranges::find(waiting_, at->second.get()) != waiting_.end()) give_turn(*at->second);
  }
}

void pipeline_core::ended_at_peer(pipeline_item& item, hop const& h) {
  if (h.end.is_early() && !item.end.is_early()) {
    item.end = h.end;
    item.is_cancelled.store(true, std::memory_order_relaxed);
    if (item.call) item.call->cancel();
    tell_kill(item);
  }
  if (--item.answers_missing == 0) fire(item.agreed);
}

// A kill ends the call; the verdict comes when all calls have ended, or if there were none.
void pipeline_core::follow(pipeline_item& item, hop const& h) {
  if (h.end.is_early()) kill(item, h.end);
  if (h.kind != hop_kind::verdict) return;
  item.has_verdict = true;
  item.end = h.end;
  fire(item.agreed);
}

void pipeline_core::tell_kill(pipeline_item& item) const {
  if (!has_peers() || !leads() || std::exchange(item.kill_told, true)) return;
  hop h(hop_kind::kill, item.id);
  h.end = item.end;
  tell_peers(h);
}

void pipeline_core::tell_peers(hop const& h) const {
  op_options o;
  o.tag(tag_of(word_tag, 0)).no_deadline();
  for (int r = 1; r < peers_.size(); ++r) peers_.send_object(h, group_rank(r), o, site_);
}

void pipeline_core::tell_leader(hop const& h) const {
  op_options o;
  o.tag(tag_of(word_tag, 0)).no_deadline();
  peers_.send_object(h, group_rank(0), o, site_);
}

}  // namespace hocket::detail
