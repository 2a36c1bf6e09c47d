# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# The version is written once, in include/hocket/version.hpp: read it for project() and the package.
set(hocket_version "")
foreach(part MAJOR MINOR PATCH)
  file(STRINGS "${CMAKE_CURRENT_SOURCE_DIR}/include/hocket/version.hpp" line
    REGEX "^#define HOCKET_VERSION_${part} [0-9]+$")
  if(NOT line MATCHES "([0-9]+)$")
    message(FATAL_ERROR "include/hocket/version.hpp has no HOCKET_VERSION_${part}")
  endif()
  list(APPEND hocket_version ${CMAKE_MATCH_1})
endforeach()
list(JOIN hocket_version "." hocket_version)
