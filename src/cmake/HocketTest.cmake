# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# hocket_test(NAME file.cpp... [LABELS label...] [TIMEOUT seconds] [LIBRARIES target...])
# One program of doctest cases, run as one ctest. The label `core` puts it under the sanitizers in CI.
function(hocket_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(test_${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(test_${name} PRIVATE
    hocket::hocket hocket_warnings hocket_test_support fmt::fmt-header-only ${arg_LIBRARIES})
  target_compile_definitions(test_${name} PRIVATE HOCKET_TEST_DATA="${PROJECT_SOURCE_DIR}/tests/data")
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
endfunction()
