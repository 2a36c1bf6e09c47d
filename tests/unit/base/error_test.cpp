// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <boost/asio/error.hpp>
#include <hocket/error.hpp>

TEST_CASE("an error keeps its story and its code") {
  hocket::error const e(hocket::errc::mismatch, "cp[0,1] ch 7 #41: rank 0 f32[2], rank 1 f32[3]");
  CHECK(e.code() == hocket::errc::mismatch);
  CHECK(e.code().message() == "mismatch");
  CHECK(std::string(e.what()) == "cp[0,1] ch 7 #41: rank 0 f32[2], rank 1 f32[3]");
}

TEST_CASE("codes answer to the POSIX condition of the same meaning") {
  namespace posix = boost::system::errc;
  CHECK(make_error_code(hocket::errc::timed_out) == posix::timed_out);
  CHECK(make_error_code(hocket::errc::invalid_argument) == posix::invalid_argument);
  CHECK(make_error_code(hocket::errc::timed_out) != posix::invalid_argument);
}

TEST_CASE("a cancelled wait has Asio's own code") {
  CHECK(hocket::operation_aborted() == boost::asio::error::operation_aborted);
}
