// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/associator.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/system/result.hpp>
#include <exception>
#include <type_traits>
#include <utility>

namespace hocket {

/// A T or why there is none: what `as_result` gives.
template <class T, class E = boost::system::error_code>
using result = boost::system::result<T, E>;

namespace detail {

/// Puts error and value of a completion into one `result`.
template <class T, class E, class Handler>
class result_handler {
 public:
  explicit result_handler(Handler h) : handler(std::move(h)) {}

  void operator()(E e) && {
    static_assert(std::is_void_v<T>);
    std::move(handler)(e ? result<T, E>(boost::system::in_place_error, std::move(e))
                         : result<T, E>(boost::system::in_place_value));
  }
  template <class U>
  void operator()(E e, U&& value) && {
    std::move(handler)(e ? result<T, E>(boost::system::in_place_error, std::move(e))
                         : result<T, E>(boost::system::in_place_value, std::forward<U>(value)));
  }

  Handler handler;
};

}  // namespace detail

/// A completion token that turns `void(E, T)` into one `result<T, E>`, so that no exception is
/// thrown: `auto r = co_await w.async_wait(as_result()); if (!r) report(r.error());`
/// With a token of its own that one says how the result arrives: `as_result(use_future)`.
template <class Token>
class as_result_t {
 public:
  /// `token` says how the result arrives.
  explicit as_result_t(Token token) : token_(std::move(token)) {}
  /// For the initiation, which moves it out.
  [[nodiscard]] Token& token() noexcept { return token_; }

 private:
  Token token_;
};

/// See `as_result_t`. Without a token it is `deferred`, which `co_await` takes.
template <class Token = boost::asio::deferred_t>
[[nodiscard]] as_result_t<std::decay_t<Token>> as_result(Token&& token = Token()) {
  return as_result_t<std::decay_t<Token>>(std::forward<Token>(token));
}

}  // namespace hocket

namespace boost::asio {

/// @cond
template <class Token, class E, class... T>
requires(sizeof...(T) <= 1) class async_result<hocket::as_result_t<Token>, void(E, T...)> {
  template <class... U>
  struct first {
    using type = void;
  };
  template <class U>
  struct first<U> {
    using type = std::decay_t<U>;
  };
  using value = typename first<T...>::type;
  using signature = void(hocket::result<value, E>);

 public:
  template <class Initiation, class... Args>
  static auto initiate(Initiation&& initiation, hocket::as_result_t<Token> token, Args&&... args) {
    return async_initiate<Token, signature>(
        wrapped<std::decay_t<Initiation>>(std::forward<Initiation>(initiation)), token.token(),
        std::forward<Args>(args)...);
  }

 private:
  // Keeps the executor of an initiation that has one visible to the outer token.
  template <class Initiation>
  class wrapped : public Initiation {
   public:
    explicit wrapped(Initiation i) : Initiation(std::move(i)) {}
    template <class Handler, class... Args>
    void operator()(Handler&& handler, Args&&... args) {
      static_cast<Initiation&> (*this)(
          hocket::detail::result_handler<value, E, std::decay_t<Handler>>(
              std::forward<Handler>(handler)),
          std::forward<Args>(args)...);
    }
  };
};
/// @endcond

template <template <typename, typename> class Associator, class T, class E, class Handler,
          class Default>
struct associator<Associator, hocket::detail::result_handler<T, E, Handler>, Default>
    : Associator<Handler, Default> {
  using handler = hocket::detail::result_handler<T, E, Handler>;
  static auto get(handler const& h) noexcept {
    return Associator<Handler, Default>::get(h.handler);
  }
  static auto get(handler const& h, Default const& d) noexcept
      -> decltype(Associator<Handler, Default>::get(h.handler, d)) {
    return Associator<Handler, Default>::get(h.handler, d);
  }
};

}  // namespace boost::asio
