# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# hocket_test(NAME file.cpp... [LABELS label...] [TIMEOUT seconds] [LIBRARIES target...])
# One program of doctest cases, run as one ctest. The label `core` puts it under the sanitizers in
# CI, `long` keeps it out of the fast tier. Target tests_<label> builds the programs of one label.
function(hocket_test name)
  cmake_parse_arguments(arg "" "TIMEOUT" "LABELS;LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(test_${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(test_${name} PRIVATE hocket_test_support ${arg_LIBRARIES})
  target_precompile_headers(test_${name} REUSE_FROM hocket_test_support)
  add_test(NAME ${name} COMMAND test_${name})
  set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}" TIMEOUT ${arg_TIMEOUT})
  foreach(label IN LISTS arg_LABELS)
    if(NOT TARGET tests_${label})
      add_custom_target(tests_${label})
    endif()
    add_dependencies(tests_${label} test_${name})
  endforeach()
endfunction()
