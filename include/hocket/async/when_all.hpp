// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstddef>
#include <hocket/async/detail/join_all.hpp>
#include <hocket/async/work.hpp>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace hocket {

namespace detail {

template <class... Ts>
class all_state final : public op_state<std::tuple<value_of<Ts>...>> {
  using result = std::tuple<value_of<Ts>...>;

 public:
  all_state(port_ptr home, work<Ts> const&... works)
      : op_state<result>(std::move(home)), children_(works.state()...) {}
  void start(std::span<op_ref const> children) { join_.start(*this, children, links_); }
  [[nodiscard]] bool drive() override { return join_.drive(); }

  [[nodiscard]] result take() override {
    return std::apply([this](auto const&... c) { return result{take_from(c, *this)...}; },
                      children_);
  }

 protected:
  void drop_value() noexcept override { children_ = {}; }

 private:
  std::tuple<op_ptr<Ts>...> children_;
  std::array<join_all::link, sizeof...(Ts)> links_;
  join_all join_;
};

template <class T>
class all_of_state final
    : public op_state<std::conditional_t<std::is_void_v<T>, void, std::vector<value_of<T>>>> {
  using result = std::conditional_t<std::is_void_v<T>, void, std::vector<value_of<T>>>;

 public:
  all_of_state(port_ptr home, std::vector<work<T>> works)
      : op_state<result>(std::move(home)), children_(std::move(works)), links_(children_.size()) {}
  void start(std::span<op_ref const> children) { join_.start(*this, children, links_); }
  [[nodiscard]] bool drive() override { return join_.drive(); }

  [[nodiscard]] value_of<result> take() override {
    value_of<result> all;
    if constexpr (!std::is_void_v<T>) {
      all.reserve(children_.size());
      for (auto const& c : children_) all.push_back(take_from(c.state(), *this));
    }
    return all;
  }

 protected:
  void drop_value() noexcept override { children_.clear(); }

 private:
  std::vector<work<T>> children_;
  std::vector<join_all::link> links_;
  join_all join_;
};

}  // namespace detail

/// Done when all are, with every result (`std::monostate` for `work<void>`). If some fail it fails,
/// when all are done, as the first of them in the order of the arguments. Ending its wait, by slot
/// or canceller, ends no other; streams ordered after it follow all the operations themselves.
template <class... Ts>
requires(sizeof...(Ts) > 0)
    [[nodiscard]] work<std::tuple<detail::value_of<Ts>...>> when_all(work<Ts>... works) {
  using state = detail::all_state<Ts...>;
  std::array<detail::op_ref, sizeof...(Ts)> const children{detail::op_ref(works.state())...};
  boost::intrusive_ptr<state> const whole(new state(detail::first_home(children), works...), false);
  whole->mutable_info().operation = "when_all";
  (work<Ts>(std::move(works)), ...);  // a parameter may live as long as the co_await of its call
  whole->start(children);
  return work<std::tuple<detail::value_of<Ts>...>>(whole);
}

/// The same for any number of handles of one type; of none: done, with nothing.
/// The result is a `std::vector<T>`, or void for `work<void>`.
template <class T>
[[nodiscard]] auto when_all(std::vector<work<T>> works,
                            std::source_location site = std::source_location::current()) {
  using state = detail::all_of_state<T>;
  using handle =
      work<std::conditional_t<std::is_void_v<T>, void, std::vector<detail::value_of<T>>>>;
  std::vector<detail::op_ref> children;
  children.reserve(works.size());
  for (auto const& w : works) children.emplace_back(w.state());
  boost::intrusive_ptr<state> const whole(new state(detail::first_home(children), std::move(works)),
                                          false);
  whole->mutable_info().operation = "when_all";
  whole->mutable_info().site = site;
  if (children.empty()) {
    whole->finish();
  } else {
    whole->start(children);
  }
  return handle(whole);
}

}  // namespace hocket
