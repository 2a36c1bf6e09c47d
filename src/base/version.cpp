// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/version.hpp>

#define HOCKET_TEXT_(x) #x
#define HOCKET_TEXT(x) HOCKET_TEXT_(x)

namespace hocket {

char const* version() noexcept {
  return HOCKET_TEXT(HOCKET_VERSION_MAJOR) "." HOCKET_TEXT(HOCKET_VERSION_MINOR) "." HOCKET_TEXT(
      HOCKET_VERSION_PATCH);
}

}  // namespace hocket
