// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstddef>
#include <hocket/async/detail/join_any.hpp>
#include <hocket/async/work.hpp>
#include <hocket/error.hpp>
#include <source_location>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace hocket {

namespace detail {

template <class... Ts>
class any_state final : public op_state<std::variant<value_of<Ts>...>> {
  using result = std::variant<value_of<Ts>...>;

 public:
  explicit any_state(port_ptr home, work<Ts> const&... works)
      : op_state<result>(std::move(home)), children_(works.state()...) {}
  void start(std::span<op_ref const> children) { join_.start(*this, children, links_); }
  [[nodiscard]] bool drive() override { return join_.drive(); }

  [[nodiscard]] result take() override { return take_at(std::index_sequence_for<Ts...>()); }

 protected:
  void drop_value() noexcept override { children_ = {}; }

 private:
  template <std::size_t... Is>
  result take_at(std::index_sequence<Is...>) {
    result winner;
    static_cast<void>(
        ((Is == join_.winner() &&
          (winner.template emplace<Is>(take_from(std::get<Is>(children_), *this)), true)) ||
         ...));
    return winner;
  }

  std::tuple<op_ptr<Ts>...> children_;
  std::array<join_any::link, sizeof...(Ts)> links_;
  join_any join_;
};

template <class T>
class any_of_state final
    : public op_state<
          std::conditional_t<std::is_void_v<T>, std::size_t, std::pair<std::size_t, value_of<T>>>> {
  using result =
      std::conditional_t<std::is_void_v<T>, std::size_t, std::pair<std::size_t, value_of<T>>>;

 public:
  any_of_state(port_ptr home, std::vector<work<T>> works)
      : op_state<result>(std::move(home)), children_(std::move(works)), links_(children_.size()) {}
  void start(std::span<op_ref const> children) { join_.start(*this, children, links_); }
  [[nodiscard]] bool drive() override { return join_.drive(); }

  [[nodiscard]] result take() override {
    auto const index = join_.winner();
    if constexpr (std::is_void_v<T>) {
      return index;
    } else {
      return result(index, take_from(children_[index].state(), *this));
    }
  }

 protected:
  void drop_value() noexcept override { children_.clear(); }

 private:
  std::vector<work<T>> children_;
  std::vector<join_any::link> links_;
  join_any join_;
};

}  // namespace detail

/// Done with the first that is, result or error; the index of the variant tells which
/// (`std::monostate` for `work<void>`). The others run on and can be awaited through their own
/// handles; this one holds what they give until it is dropped. Its `released()` says nothing of
/// their buffers.
template <class... Ts>
requires(sizeof...(Ts) > 0)
    [[nodiscard]] work<std::variant<detail::value_of<Ts>...>> when_any(work<Ts>... works) {
  using state = detail::any_state<Ts...>;
  std::array<detail::op_ref, sizeof...(Ts)> const children{detail::op_ref(works.state())...};
  boost::intrusive_ptr<state> const whole(new state(detail::first_home(children), works...), false);
  whole->mutable_info().operation = "when_any";
  (work<Ts>(std::move(works)), ...);  // a parameter may live as long as the co_await of its call
  whole->start(children);
  return work<std::variant<detail::value_of<Ts>...>>(whole);
}

/// The same for handles of one type: the result is the winner's index and its T in a `std::pair`,
/// or the index alone for `work<void>`. Of none it never would be done: `errc::invalid_argument`.
template <class T>
[[nodiscard]] auto when_any(std::vector<work<T>> works,
                            std::source_location site = std::source_location::current()) {
  using state = detail::any_of_state<T>;
  using handle = work<std::conditional_t<std::is_void_v<T>, std::size_t,
                                         std::pair<std::size_t, detail::value_of<T>>>>;
  std::vector<detail::op_ref> children;
  children.reserve(works.size());
  for (auto const& w : works) children.emplace_back(w.state());
  boost::intrusive_ptr<state> const whole(new state(detail::first_home(children), std::move(works)),
                                          false);
  whole->mutable_info().operation = "when_any";
  whole->mutable_info().site = site;
  if (children.empty()) {
    whole->finish({make_error_code(errc::invalid_argument), {}});
  } else {
    whole->start(children);
  }
  return handle(whole);
}

}  // namespace hocket
