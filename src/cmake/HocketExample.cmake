# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# hocket_example(NAME file.cpp... [EXPECT regex] [ARGS argument...] [TIMEOUT seconds] [RANKS n]
#                [LIBRARIES target...])
# One example program, in bin/NAME; with the tests on it is also a ctest of the label `example`;
# EXPECT: what it must print; RANKS: in how many processes, started by `hocket run`. An example that
# prints WRONG has failed.
function(hocket_example name)
  cmake_parse_arguments(arg "" "TIMEOUT;EXPECT;RANKS" "ARGS;LIBRARIES" ${ARGN})
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  add_executable(${name} ${arg_UNPARSED_ARGUMENTS})
  target_link_libraries(${name} PRIVATE hocket::hocket hocket_warnings ${arg_LIBRARIES})
  if(HOCKET_TESTS AND (NOT arg_RANKS OR TARGET hocket_tool))
    if(arg_RANKS)
      add_test(NAME example_${name}
        COMMAND hocket_tool run -n ${arg_RANKS} -- $<TARGET_FILE:${name}> ${arg_ARGS})
    else()
      add_test(NAME example_${name} COMMAND ${name} ${arg_ARGS})
    endif()
    set_tests_properties(example_${name} PROPERTIES LABELS example TIMEOUT ${arg_TIMEOUT}
      FAIL_REGULAR_EXPRESSION "WRONG;Sanitizer")
    if(arg_EXPECT)
      set_tests_properties(example_${name} PROPERTIES PASS_REGULAR_EXPRESSION "${arg_EXPECT}")
    endif()
  endif()
endfunction()
