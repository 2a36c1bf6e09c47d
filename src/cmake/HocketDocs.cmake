# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# Target hocket_docs: the reference of the public headers, if doxygen is there. A public entity
# without documentation and a comment that doxygen cannot follow are errors; test `docs` runs it.
find_package(Doxygen QUIET)
if(NOT DOXYGEN_FOUND)
  message(STATUS "hocket: doxygen: not found, no target hocket_docs")
  if(HOCKET_TESTS)
    add_test(NAME docs COMMAND ${CMAKE_COMMAND} -E echo "SKIPPED: doxygen is not installed")
    set_tests_properties(docs PROPERTIES LABELS house SKIP_REGULAR_EXPRESSION "SKIPPED: doxygen")
  endif()
  return()
endif()
message(STATUS "hocket: doxygen ${DOXYGEN_VERSION}: target hocket_docs")
set(DOXYGEN_WARN_AS_ERROR FAIL_ON_WARNINGS)
set(DOXYGEN_QUIET YES)
set(DOXYGEN_EXTRACT_ALL NO)
set(DOXYGEN_WARN_IF_UNDOCUMENTED YES)
set(DOXYGEN_DISTRIBUTE_GROUP_DOC YES) # "@{ Text. ... @}" says the same of several members
set(DOXYGEN_HAVE_DOT NO)
set(DOXYGEN_GENERATE_LATEX NO)
set(DOXYGEN_JAVADOC_AUTOBRIEF YES)
set(DOXYGEN_STRIP_FROM_PATH "${PROJECT_SOURCE_DIR}/include")
set(DOXYGEN_EXCLUDE_SYMBOLS "hocket::detail*")
set(DOXYGEN_EXTENSION_MAPPING "dox=C++")
set(DOXYGEN_FILE_PATTERNS "*.hpp;*.dox;*.md")
set(DOXYGEN_EXCLUDE_PATTERNS "*/detail/*")
set(DOXYGEN_USE_MDFILE_AS_MAINPAGE "${PROJECT_SOURCE_DIR}/README.md")
set(DOXYGEN_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/docs")
doxygen_add_docs(hocket_docs "${CMAKE_CURRENT_LIST_DIR}/foreign.dox"
  "${PROJECT_SOURCE_DIR}/include/hocket" "${PROJECT_SOURCE_DIR}/README.md"
  COMMENT "Reference of the public headers in ${PROJECT_BINARY_DIR}/docs/html")
if(HOCKET_TESTS)
  add_test(NAME docs COMMAND Doxygen::doxygen "${CMAKE_CURRENT_BINARY_DIR}/Doxyfile.hocket_docs"
    WORKING_DIRECTORY "${CMAKE_CURRENT_BINARY_DIR}")
  set_tests_properties(docs PROPERTIES LABELS house TIMEOUT 120)
endif()
