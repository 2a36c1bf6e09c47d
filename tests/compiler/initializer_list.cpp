// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// g++ 12 rejects this ("array used as initializer"), so no public function takes such a list.
#include <initializer_list>

#include "probe.hpp"

probe::task<int> sum(std::initializer_list<probe::counted> list) {
  int total = 0;
  for (auto const& c : list) total += c.value();
  co_return total;
}

probe::task<int> user() {
  int r = co_await sum({probe::counted(1), probe::counted(2)});
  co_return r;
}
