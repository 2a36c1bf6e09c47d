# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# Warnings are private to this project: a consumer compiles our headers under its own rules.
# They are errors only with the compilers CI runs: another one may know warnings we have not seen.
set(hocket_compiler_is_known OFF)
if((CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13) OR
   (CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 20))
  set(hocket_compiler_is_known ON)
endif()
add_library(hocket_warnings INTERFACE)
target_compile_options(hocket_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual
  # g++ 12 takes the allocation functions of coroutine frames for mismatched pairs
  $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>
  $<$<AND:$<BOOL:${HOCKET_WERROR}>,$<BOOL:${hocket_compiler_is_known}>>:-Werror>)
