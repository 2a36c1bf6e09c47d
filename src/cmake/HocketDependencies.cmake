# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# What Hocket needs from the system. Nothing is downloaded; each line of output says what was found
# and why it matters.
set(HOCKET_BOOST_VERSION_MIN 1.81)
find_package(Boost ${HOCKET_BOOST_VERSION_MIN} CONFIG QUIET COMPONENTS json program_options)
if(NOT Boost_FOUND)
  message(FATAL_ERROR
    "hocket needs Boost >= ${HOCKET_BOOST_VERSION_MIN} with Boost.JSON and Boost.ProgramOptions.\n"
    "Debian 12: apt-get install libboost1.81-dev libboost-json1.81-dev "
    "libboost-program-options1.81-dev\n"
    "Elsewhere: set Boost_ROOT to the prefix of such a Boost.")
endif()
message(STATUS "hocket: Boost ${Boost_VERSION} (Asio, JSON, ProgramOptions): required")

find_package(fmt CONFIG QUIET)
if(NOT fmt_FOUND)
  message(FATAL_ERROR "hocket needs {fmt}: apt-get install libfmt-dev")
endif()
message(STATUS "hocket: fmt ${fmt_VERSION}, header only: required (text of errors)")

find_path(HOCKET_URING_INCLUDE_DIR liburing.h)
find_library(HOCKET_URING_LIBRARY uring)
if(NOT HOCKET_URING_INCLUDE_DIR OR NOT HOCKET_URING_LIBRARY)
  message(FATAL_ERROR "hocket needs liburing >= 2.2: apt-get install liburing-dev")
endif()
message(STATUS "hocket: liburing ${HOCKET_URING_LIBRARY}: required (sockets; whether the kernel "
  "permits io_uring is seen at run time)")

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

find_package(OpenSSL QUIET COMPONENTS Crypto)
if(NOT OPENSSL_FOUND)
  message(FATAL_ERROR "hocket needs OpenSSL's libcrypto: apt-get install libssl-dev")
endif()
message(STATUS "hocket: OpenSSL ${OPENSSL_VERSION} (libcrypto): required (HMAC of the hello)")
