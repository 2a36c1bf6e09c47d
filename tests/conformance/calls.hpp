// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <functional>
#include <hocket/group/process_group.hpp>
#include <string>
#include <vector>

#include "outcome.hpp"

namespace hocket::conformance {

/// The handle of any call, whatever it gives.
class called {
 public:
  called() = default;
  template <class T>
  called(work<T> const& w)
      : canceller_(w.get_canceller()),
        released_(w.released()),
        ready_([w] { return w.ready(); }),
        end_([w] { return outcome_of(work<T>(w)); }) {}

  /// Waits; how it ended.
  [[nodiscard]] boost::asio::awaitable<outcome> end() const { return end_(); }
  [[nodiscard]] work<> released() const { return released_; }
  [[nodiscard]] canceller const& get_canceller() const { return canceller_; }
  [[nodiscard]] bool ready() const { return ready_(); }

 private:
  canceller canceller_;
  work<> released_;
  std::function<bool()> ready_;
  std::function<boost::asio::awaitable<outcome>()> end_;
};

/// One of a group's calls, with arguments that are right on every member.
struct call_kind {
  std::string name;  ///< as errors spell it
  std::string form;  ///< as a program writes it
  called (*start)(process_group const& g, op_options const& options);
};

/// Every collective, in every form.
[[nodiscard]] std::vector<call_kind> collective_calls();

/// Messages to and from the member before and after this one, as a pair that meets.
[[nodiscard]] std::vector<call_kind> receive_calls();  ///< from the one before
[[nodiscard]] std::vector<call_kind> send_calls();     ///< to the next one; in the same order

}  // namespace hocket::conformance
