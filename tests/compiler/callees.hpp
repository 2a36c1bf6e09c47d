// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What the probes await: functions that take their argument in one of the ways an API can.
#pragma once

#include <string>
#include <utility>

#include "probe.hpp"

namespace probe {

/// Options without a constructor: an aggregate.
struct aggregate {
  counted a;
  counted b;
};

/// The same with a declared constructor, which is what the public API does.
class options {
 public:
  options() = default;
  options& first(int value) {
    a_ = counted(value);
    return *this;
  }
  [[nodiscard]] int sum() const noexcept { return a_.value() + b_.value(); }

 private:
  counted a_;
  counted b_{2};
};

inline task<int> take(counted c) {
  co_await suspend_once();
  co_return c.value();
}
inline task<int> take_reference(counted const& c) {
  co_await suspend_once();
  co_return c.value();
}
inline task<int> take_aggregate(aggregate a) {
  co_await suspend_once();
  co_return a.a.value() + a.b.value();
}
inline task<int> take_defaulted(aggregate a = {}) {
  co_await suspend_once();
  co_return a.a.value() + 7;
}
inline task<int> take_options(options o) {
  co_await suspend_once();
  co_return o.sum();
}
inline task<int> take_string(std::string s) {
  co_await suspend_once();
  co_return static_cast<int>(s.size());
}
template <class F>
task<int> call(F f) {
  co_await suspend_once();
  co_return f();
}
inline task<counted> make(int value) {
  co_await suspend_once();
  co_return counted(value);
}

}  // namespace probe
