// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <hocket/async/work.hpp>

#include "patterns.hpp"

namespace hocket::test {

/// Waits for an operation and says how it ended; an empty code is success.
template <class T>
boost::asio::awaitable<ending> ended(work<T> w) {
  ending e;
  try {
    static_cast<void>(co_await std::move(w));
  } catch (boost::system::system_error const& x) {
    e.code = x.code();
    e.story = x.what();
  }
  co_return e;
}

inline boost::asio::awaitable<ending> ended(work<> w) {
  ending e;
  try {
    co_await std::move(w);
  } catch (boost::system::system_error const& x) {
    e.code = x.code();
    e.story = x.what();
  }
  co_return e;
}

}  // namespace hocket::test
