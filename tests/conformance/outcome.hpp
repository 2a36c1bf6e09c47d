// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/system/system_error.hpp>
#include <chrono>
#include <hocket/async/work.hpp>
#include <hocket/error.hpp>
#include <string>
#include <utility>

namespace hocket::conformance {

/// How an operation ended; an empty code is success.
struct outcome {
  boost::system::error_code code;
  std::string story;
  [[nodiscard]] bool tells(std::string const& text) const {
    return story.find(text) != std::string::npos;
  }
};

template <class T>
boost::asio::awaitable<outcome> outcome_of(work<T> w) {
  outcome o;
  try {
    static_cast<void>(co_await std::move(w));
  } catch (boost::system::system_error const& e) {
    o.code = e.code();
    o.story = e.what();
  }
  co_return o;
}
template <>
inline boost::asio::awaitable<outcome> outcome_of(work<> w) {
  outcome o;
  try {
    co_await std::move(w);
  } catch (boost::system::system_error const& e) {
    o.code = e.code();
    o.story = e.what();
  }
  co_return o;
}

inline boost::asio::awaitable<void> sleep_for(std::chrono::microseconds time) {
  auto const here = co_await boost::asio::this_coro::executor;
  boost::asio::steady_timer timer(here, time);
  co_await timer.async_wait(boost::asio::use_awaitable);
}

}  // namespace hocket::conformance
