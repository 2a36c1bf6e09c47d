// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "io/address.hpp"

#include <doctest/doctest.h>
#include <net/if.h>
#include <netinet/in.h>

#include "refusal.hpp"

using namespace hocket;
using io::address;
using test::refusal;

namespace {

std::string refused(std::string_view text) {
  return refusal([&] { return address::parse(text); });
}

}  // namespace

TEST_CASE("an address prints as it is written") {
  for (char const* text :
       {"127.0.0.1:80", "0.0.0.0:0", "255.255.255.255:65535", "[::1]:80", "[::]:0",
        "[2001:db8::7]:29500", "unix:@name", "unix:@a b/c:d@e", "[fe80::1%lo]:80"}) {
    CAPTURE(text);
    CHECK(address::parse(text).to_string() == text);
    CHECK(address::parse(text) == address::parse(text));
  }
  CHECK(address().to_string() == "(none)");
  CHECK(address::parse("[0:0:0:0:0:0:0:1]:080").to_string() == "[::1]:80");
}

TEST_CASE("a scope is an interface's name or number") {
  auto const by_name = address::parse("[fe80::1%lo]:80");
  auto const number = std::to_string(::if_nametoindex("lo"));
  CHECK(by_name == address::parse("[fe80::1%" + number + "]:80"));
  CHECK(by_name != address::parse("[fe80::1]:80"));
  CHECK(address::parse("[fe80::1%4000000]:80").to_string() == "[fe80::1%4000000]:80");
}

TEST_CASE("ports are read and replaced, and a Unix socket has none") {
  CHECK(address::parse("127.0.0.1:80").port() == 80);
  CHECK(address::parse("[::1]:65535").port() == 65535);
  CHECK(address::parse("unix:@x").port() == 0);
  CHECK(address::parse("10.0.0.1:1").with_port(29500).to_string() == "10.0.0.1:29500");
  CHECK(address::parse("[::1]:1").with_port(2) == address::parse("[::1]:2"));
  CHECK(address::parse("unix:@x").with_port(2) == address::parse("unix:@x"));
  CHECK(address::parse("127.0.0.1:80").is_tcp());
  CHECK(address::parse("unix:@x").is_unix());
}

TEST_CASE("the longest name of a Unix socket has 107 bytes") {
  std::string const longest(107, 'n');
  CHECK(address::parse("unix:@" + longest).to_string() == "unix:@" + longest);
  CHECK(refused("unix:@" + longest + "n").find("108 bytes, not 1 to 107") != std::string::npos);
}

TEST_CASE("what is no address is refused, and the refusal says why") {
  struct {
    char const* text;
    char const* why;
  } const cases[] = {
      {"", "no port"},
      {"127.0.0.1", "no port"},
      {"127.0.0.1:", "its port is ''"},
      {"127.0.0.1:65536", "its port is '65536'"},
      {"127.0.0.1:-1", "its port is '-1'"},
      {"127.0.0.1:80x", "its port is '80x'"},
      {"127.0.0.1: 80", "its port is ' 80'"},
      {"localhost:80", "names are not resolved here"},
      {"127.1:80", "'127.1' is no IPv4 address"},
      {"256.0.0.1:80", "no IPv4 address"},
      {"::1:80", "no IPv4 address"},
      {"[::1]", "no ']:'"},
      {"[::1:80", "no ']:'"},
      {"[127.0.0.1]:80", "no IPv6 address"},
      {"[fe80::1%nowhere]:80", "no interface 'nowhere'"},
      {"[fe80::1%]:80", "no interface ''"},
      {"unix:/tmp/x", "abstract"},
      {"unix:@", "its name has 0 bytes"},
      {"unix:", "abstract"},
  };
  for (auto const& c : cases) {
    auto const story = refused(c.text);
    CAPTURE(c.text);
    CAPTURE(story);
    CHECK(test::is_refused(story));
    CHECK(story.find(c.why) != std::string::npos);
  }
  CHECK(test::is_refused(refused(std::string_view("unix:@a\0b", 9))));
}

TEST_CASE("what the kernel hands out is an address only if it is of a known family") {
  sockaddr_storage storage{};
  storage.ss_family = AF_UNIX;
  CHECK(address::from(storage, sizeof(sa_family_t)) == address());  // a socket without a name
  CHECK(address::from(storage, sizeof storage) == address());
  storage.ss_family = AF_NETLINK;
  CHECK(address::from(storage, 12) == address());
  CHECK(address::local_of(-1) == address());
  CHECK(address::peer_of(0) == address());
}
