// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/async/detail/join_any.hpp>
#include <utility>

namespace hocket::detail {

void join_any::start(op_base& whole, std::span<op_ref const> children, std::span<link> links) {
  op_ref const keep(&whole);
  whole_ = &whole;
  links_ = links;
  for (std::size_t i = 0; i < children.size(); ++i) {
    links[i].any = this;
    links[i].child = children[i].get();
    links[i].run = &child_settled;
  }
  for (std::size_t i = 0; i < links.size(); ++i) {
    if (decided_.load()) return;
    if (children[i]) {
      intrusive_ptr_add_ref(whole_);  // the link's
      children[i]->when_settled(links[i]);
      if (decided_.load()) let_go(links[i]);  // the winner may have looked before it was there
    } else if (!decided_.exchange(true)) {
      win(i);
    }
  }
}

bool join_any::drive() {
  bool driven = false;
  for (auto const& l : links_)
    if (l.child != nullptr && !l.child->settled()) driven |= l.child->drive();
  return driven;
}

void join_any::child_settled(continuation* c) noexcept {
  auto* const l = static_cast<link*>(c);
  op_ref const whole(l->any->whole_, false);
  auto* const any = l->any;
  if (!any->decided_.exchange(true)) any->win(static_cast<std::size_t>(l - any->links_.data()));
}

void join_any::win(std::size_t index) {
  winner_ = index;
  for (auto& l : links_)
    if (&l != &links_[index]) let_go(l);
  op_base const* const child = links_[index].child;
  whole_->finish(child == nullptr ? empty_handle() : (child->failed() ? child->why() : failure()));
}

void join_any::let_go(link& l) noexcept {
  if (l.child != nullptr && l.child->withdraw(l)) intrusive_ptr_release(whole_);
}

}  // namespace hocket::detail
