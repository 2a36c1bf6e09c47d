// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/async/detail/join_all.hpp>
#include <utility>

namespace hocket::detail {

port_ptr first_home(std::span<op_ref const> children) {
  for (auto const& child : children)
    if (child && child->home() != nullptr) return child->home();
  return nullptr;
}

void join_all::start(op_base& whole, std::span<op_ref const> children, std::span<link> links) {
  op_ref const keep(&whole);
  whole_ = keep;
  links_ = links;
  unsettled_ = unfinished_ = children.size();
  for (std::size_t i = 0; i < children.size(); ++i) {
    links[i].all = this;
    links[i].child = children[i].get();
    links[i].run = &child_settled;
  }
  for (auto& l : links) {  // from here on the children may end it
    if (l.child != nullptr) {
      l.child->when_settled(l);
    } else {
      one_settled();
      one_finished();
    }
  }
}

bool join_all::drive() {
  bool driven = false;
  for (auto const& l : links_)
    if (l.child != nullptr && !l.child->settled()) driven |= l.child->drive();
  return driven;
}

void join_all::child_settled(continuation* c) noexcept {
  auto* const l = static_cast<link*>(c);
  l->run = &child_finished;
  l->all->one_settled();
  l->child->when_finished(*l);
}

void join_all::child_finished(continuation* c) noexcept {
  static_cast<link*>(c)->all->one_finished();
}

void join_all::one_settled() {
  if (unsettled_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  for (auto const& l : links_) {
    if (l.child == nullptr) return whole_->conclude(empty_handle());
    if (l.child->failed()) return whole_->conclude(l.child->why());
  }
  whole_->conclude({});
}

void join_all::one_finished() {
  if (unfinished_.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  op_ref const whole = std::move(whole_);
  for (auto const& l : links_) {
    if (l.child == nullptr) return whole->finish(empty_handle());
    if (auto const& e = l.child->engine_failure()) return whole->finish(failure_from(e));
  }
  whole->finish();
}

}  // namespace hocket::detail
