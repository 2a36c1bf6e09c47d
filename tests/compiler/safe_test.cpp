// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The forms our documentation tells users to write: right on every supported compiler.
#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "callees.hpp"

namespace {

using namespace probe;

task<int> named_lambda() {
  counted c(7);
  auto f = [c] { return c.value(); };
  int r = co_await call(std::move(f));
  co_return r;
}
task<int> reference_capture() {
  counted c(7);
  int r = co_await call([&c] { return c.value(); });
  co_return r;
}
task<int> lambda_without_captures() {
  counted c(5);
  int r = co_await [](counted x) -> task<int> {
    co_await suspend_once();
    co_return x.value();
  }(c);
  co_return r;
}
task<int> named_aggregate() {
  aggregate a{counted(1), counted(2)};
  int r = co_await take_aggregate(std::move(a));
  co_return r;
}
task<int> fluent_options() {
  int r = co_await take_options(options().first(3));
  co_return r;
}
task<int> temporary_of_class() {
  int r = co_await take(counted(4));
  co_return r;
}
task<int> temporary_by_reference() {
  int r = co_await take_reference(counted(4));
  co_return r;
}
task<int> temporary_string() {
  std::string const half(40, 'a');
  int r = co_await take_string(half + "-" + half);
  co_return r;
}
task<int> temporary_tuple() {
  auto const sum = [](std::tuple<counted, counted> t) -> task<int> {
    co_await suspend_once();
    co_return std::get<0>(t).value() + std::get<1>(t).value();
  };
  int r = co_await sum(std::tuple<counted, counted>(counted(1), counted(2)));
  co_return r;
}
task<int> temporary_unique_pointer() {
  auto const read = [](std::unique_ptr<counted> p) -> task<int> {
    co_await suspend_once();
    co_return p->value();
  };
  int r = co_await read(std::make_unique<counted>(4));
  co_return r;
}
task<int> task_named_first() {
  counted c(7);
  auto t = take(c);
  int r = co_await std::move(t);
  co_return r;
}
task<int> branch_instead_of_conditional() {
  int r = 0;
  if (counted::alive() == 0) {
    counted c = co_await make(3);
    r = c.value();
  } else {
    counted c = co_await make(4);
    r = c.value();
  }
  co_return r;
}
task<int> exception_through_temporaries() {
  auto const fail = [](counted c) -> task<int> {
    co_await suspend_once();
    if (c.value() == 2) throw std::runtime_error("expected");
    co_return 0;
  };
  int r = 0;
  try {
    r = co_await fail(counted(2));
  } catch (std::runtime_error const&) {
    r = 5;
  }
  co_return r;
}
task<int> loop_with_locals() {
  std::vector<counted> kept;
  for (int i = 0; i < 3; ++i) {
    counted c = co_await make(i);
    kept.push_back(c);
  }
  co_return kept[0].value() + kept[1].value() + kept[2].value();
}

constexpr probe_case safe[] = {
    {"named lambda moved in", named_lambda, 7},
    {"temporary lambda that captures by reference", reference_capture, 7},
    {"coroutine lambda without captures", lambda_without_captures, 5},
    {"named aggregate moved in", named_aggregate, 3},
    {"options with a declared constructor and setters", fluent_options, 5},
    {"temporary of a class", temporary_of_class, 4},
    {"temporary bound to a reference", temporary_by_reference, 4},
    {"temporary string from +", temporary_string, 81},
    {"temporary tuple by its constructor", temporary_tuple, 3},
    {"temporary unique_ptr", temporary_unique_pointer, 4},
    {"task named, then awaited", task_named_first, 7},
    {"if and else instead of ?:", branch_instead_of_conditional, 3},
    {"exception while temporaries live", exception_through_temporaries, 5},
    {"locals in a loop", loop_with_locals, 3},
};

}  // namespace

TEST_CASE("forms that are safe with coroutines destroy every temporary once") {
  for (auto const& c : safe) {
    CAPTURE(c.form);
    CHECK(judge(c.run, c.expected) == verdict::clean);
  }
}
