// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/detail/assert.hpp>

#include <cstdio>
#include <cstdlib>

namespace hocket::detail {

void assertion_failed(char const* condition, char const* file, int line) noexcept {
  std::fprintf(stderr, "%s:%d: hocket invariant broken: %s\n", file, line, condition);
  std::abort();
}

}  // namespace hocket::detail
