# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# Warnings are private to this project: a consumer compiles our headers under its own rules.
add_library(hocket_warnings INTERFACE)
target_compile_options(hocket_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual
  # g++ 12 takes the allocation functions of coroutine frames for mismatched pairs
  $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>
  $<$<BOOL:${HOCKET_WERROR}>:-Werror>)
