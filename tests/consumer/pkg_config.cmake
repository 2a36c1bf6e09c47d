# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# cmake -DSTAGE=… -DCXX=… -DFLAGS=… -DSTATIC=ON|OFF -DSOURCE=… -DBINARY=… -P pkg_config.cmake
# Builds the consumer with nothing but the compiler and what pkg-config says, and runs it.
find_program(pkg_config NAMES pkg-config pkgconf REQUIRED)
file(GLOB_RECURSE pc_file "${STAGE}/*/hocket.pc")
cmake_path(GET pc_file PARENT_PATH pc_dir)
set(ENV{PKG_CONFIG_PATH} "${pc_dir}")
set(static "")
if(STATIC)
  set(static --static)
endif()
execute_process(COMMAND "${pkg_config}" --cflags --libs ${static} hocket
  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(flags UNIX_COMMAND "${FLAGS} ${flags}")
cmake_path(GET pc_dir PARENT_PATH libdir)
execute_process(COMMAND "${CXX}" -std=c++20 "${SOURCE}" -o "${BINARY}" ${flags}
  "-Wl,-rpath,${libdir}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${BINARY}" COMMAND_ERROR_IS_FATAL ANY)
