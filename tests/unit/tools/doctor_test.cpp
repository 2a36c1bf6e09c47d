// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket doctor as a user runs it.
#include <doctest/doctest.h>

#include <boost/json.hpp>
#include <hocket/version.hpp>

#include "run_program.hpp"

using hocket::test::run_program;
namespace json = boost::json;

namespace {

json::value examined(std::string const& variables, int status = 0) {
  auto const result = run_program("env -u HOCKET_IO -u HOCKET_ENGINE " + variables +
                                  " timeout 30 '" HOCKET_TOOL "' doctor --json 2>&1");
  CAPTURE(result.output);
  CHECK(result.status == status);
  return json::parse(result.output);
}

bool has(std::string const& text, std::string const& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("doctor's document says what is permitted, there, chosen and set") {
  auto const doc = examined("HOCKET_LOG=error");
  CHECK(doc.at("version") == hocket::version());
  for (auto const* const key : {"io_uring", "cma", "yama_ptrace_scope", "dev_shm", "memlock",
                                "nofile", "unix_sockets", "tcp_sockets", "memfd"}) {
    CAPTURE(key);
    CHECK(doc.at("permitted").as_object().contains(key));
  }
  CHECK(doc.at("permitted").at("io_uring").at("reason").is_string());
  CHECK(doc.at("permitted").at("nofile").at("soft").as_int64() > 0);
  CHECK(doc.at("machine").at("cores").at("usable").as_int64() > 0);
  CHECK(doc.at("machine").at("cpu_limit").as_object().contains("cores"));
  CHECK(doc.at("machine").at("huge_pages").at("page_bytes").as_int64() >= 0);
  CHECK(doc.at("machine").at("cuda").at("present").is_bool());
  CHECK(doc.at("machine").at("nccl").at("present").is_bool());
  CHECK(doc.at("chosen").at("poller").at("name") == "epoll");
  CHECK(doc.at("chosen").at("engine").at("name") == "local");
  CHECK(doc.at("threads").as_object().contains("hocket-progress"));
  CHECK(doc.at("environment").at("HOCKET_LOG").at("value") == "error");
  CHECK(doc.at("environment").at("HOCKET_IO").at("value").is_null());
  CHECK(doc.at("missing").as_array().empty());
}

TEST_CASE("doctor's trial copy decides how bytes move inside the host") {
  auto const doc = examined("");
  bool const can_read = doc.at("permitted").at("cma").at("usable").as_bool();
  CHECK(doc.at("chosen").at("in_host").at("way") == (can_read ? "peer_memory" : "unix_sockets"));
}

TEST_CASE("doctor tells a variable that asks for io_uring, and one that nobody reads") {
  bool const permitted = examined("").at("permitted").at("io_uring").at("usable").as_bool();
  auto const doc = examined("HOCKET_IO=io_uring HOCKET_TIMEOUT=5", permitted ? 0 : 1);
  auto const& poller = doc.at("chosen").at("poller");
  CHECK(poller.at("name") == (permitted ? json::value("io_uring") : json::value()));
  auto const meaning =
      json::value_to<std::string>(doc.at("environment").at("HOCKET_TIMEOUT").at("meaning"));
  CHECK(has(meaning, "unknown to this version"));
}

TEST_CASE("doctor ends with 1 where a rank could not start, and says why") {
  auto const doc = examined("HOCKET_IO=polling HOCKET_ENGINE=hots", 1);
  CHECK(doc.at("missing") == json::array{"poller", "engine"});
  auto const why = json::value_to<std::string>(doc.at("chosen").at("engine").at("why"));
  CHECK(has(why, "HOCKET_ENGINE=hots"));
  auto const told = run_program("HOCKET_IO=polling '" HOCKET_TOOL "' doctor");
  CHECK(told.status == 1);
  CHECK(has(told.output, "MISSING: HOCKET_IO is 'polling'"));
}

TEST_CASE("doctor explains itself to people, as a rank, too, and refuses what it does not know") {
  auto const told = run_program("'" HOCKET_TOOL "' run -n 1 -- '" HOCKET_TOOL "' doctor");
  CAPTURE(told.output);
  CHECK(told.status == 0);
  for (auto const* const part : {"What is permitted", "What is chosen", "hocket-progress",
                                 "rank 0 of 1", "HOCKET_SECRET_FD", "Hocket works here."})
    CHECK(has(told.output, part));
  CHECK(has(run_program("'" HOCKET_TOOL "' doctor --help").output, "--json"));
  CHECK(run_program("'" HOCKET_TOOL "' doctor --jsn 2>/dev/null").status == 2);
}
