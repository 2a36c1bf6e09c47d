// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <cstdint>
#include <hocket/error.hpp>
#include <hocket/group/object.hpp>
#include <string>
#include <vector>

// One program holds what would be two programs: the structs of a sender and of a receiver.
namespace sender {

struct request {
  int id = 0;
  std::string prompt;
};
template <class V>
void hocket_describe(V& v, request& r) {
  v(r.id, "id");
  v(r.prompt, "prompt");
}

struct plan {
  std::vector<request> steps;
};
template <class V>
void hocket_describe(V& v, plan& p) {
  v(p.steps, "steps");
}

struct config {
  int width = 0;
};
template <class V>
void hocket_describe(V& v, config& c) {
  v(c.width, "width");
  v.version(2);
}

}  // namespace sender

namespace receiver {

struct longer {
  int id = 0;
  std::string prompt;
  double scale = 0;
};
template <class V>
void hocket_describe(V& v, longer& r) {
  v(r.id, "id");
  v(r.prompt, "prompt");
  v(r.scale, "scale");
}

struct shorter {
  int id = 0;
};
template <class V>
void hocket_describe(V& v, shorter& r) {
  v(r.id, "id");
}

struct renamed {
  int id = 0;
  std::string text;
};
template <class V>
void hocket_describe(V& v, renamed& r) {
  v(r.id, "id");
  v(r.text, "text");
}

struct retyped {
  int id = 0;
  std::vector<int> prompt;
};
template <class V>
void hocket_describe(V& v, retyped& r) {
  v(r.id, "id");
  v(r.prompt, "prompt");
}

struct plan {
  std::vector<retyped> steps;
};
template <class V>
void hocket_describe(V& v, plan& p) {
  v(p.steps, "steps");
}

template <std::uint32_t Current, std::uint32_t Oldest>
struct config {
  int width = 0;
  int height = 0;
  std::uint32_t came_as = 0;
  template <class V>
  friend void hocket_describe(V& v, config& c) {
    c.came_as = v.version(Current, Oldest);
    v(c.width, "width");
    if (c.came_as >= 3) v(c.height, "height");
  }
};

struct unversioned {
  int width = 0;
};
template <class V>
void hocket_describe(V& v, unversioned& c) {
  v(c.width, "width");
}

struct base {
  int a = 0;
};
template <class V>
void hocket_describe(V& v, base& b) {
  v(b.a, "a");
}
struct derived : base {
  int b = 0;
};
struct derived_and_told : base {
  int b = 0;
};
template <class V>
void hocket_describe(V& v, derived_and_told& d) {
  hocket_describe(v, static_cast<base&>(d));
  v(d.b, "b");
}

struct badly_named {
  int a = 0;
  std::string name;
};
template <class V>
void hocket_describe(V& v, badly_named& b) {
  v(b.a, b.name);
}

}  // namespace receiver

namespace {

template <class To, class From>
std::string story_of(From const& value) {
  try {
    (void)hocket::decode_object<To>(hocket::encode_object(value));
  } catch (hocket::error const& e) {
    return e.code().message() + ": " + e.what();
  }
  return "no error";
}

sender::request const asked = {7, "a cat"};
sender::config const sent = {64};

}  // namespace

TEST_CASE("a receiver with other fields says which") {
  CHECK(story_of<receiver::longer>(asked) ==
        "mismatch: object: expected field \"scale\", got the struct's end at byte 70, in "
        "receiver::longer");
  CHECK(story_of<receiver::shorter>(asked) ==
        "mismatch: object: expected the struct's end, got field \"prompt\" at byte 49, in "
        "receiver::shorter");
  CHECK(story_of<receiver::renamed>(asked) ==
        "mismatch: object: expected field \"text\", got field \"prompt\" at byte 49, in "
        "receiver::renamed");
}

TEST_CASE("a field of another type is named with its struct, inside containers too") {
  CHECK(story_of<receiver::retyped>(asked) ==
        "mismatch: object: expected packed array, got string at byte 56, in "
        "receiver::retyped.prompt");
  sender::plan p;
  p.steps.resize(2);
  CHECK(story_of<receiver::plan>(p).ends_with("in receiver::retyped.prompt"));
}

TEST_CASE("a stated version is refused, or taken and told, as the receiver says") {
  CHECK(story_of<receiver::config<3, 3>>(sent).starts_with(
      "mismatch: object: struct of version 2, this program reads 3 to 3 at byte 37"));
  auto const old = hocket::decode_object<receiver::config<3, 1>>(hocket::encode_object(sent));
  CHECK(old.width == 64);
  CHECK(old.height == 0);
  CHECK(old.came_as == 2);
  CHECK(story_of<receiver::config<1, 1>>(sent).starts_with(
      "mismatch: object: struct of version 2, this program reads 1 to 1"));
  CHECK(story_of<receiver::unversioned>(sent).starts_with(
      "mismatch: object: struct of version 2, this program reads 0 to 0"));
  CHECK(hocket::decode_object<sender::config>(hocket::encode_object(sent)).width == 64);
}

TEST_CASE("a version belongs to its own struct, whatever lies inside it") {
  std::vector<sender::config> const several = {{1}, {2}, {3}};
  auto const back =
      hocket::decode_object<std::vector<receiver::config<2, 2>>>(hocket::encode_object(several));
  REQUIRE(back.size() == 3);
  CHECK(back[2].width == 3);
}

TEST_CASE("the description of a base class does not serve a derived one") {
  using hocket::detail::described;
  CHECK(described<receiver::base>);
  CHECK_FALSE(described<receiver::derived>);
  CHECK(described<receiver::config<1, 1>>);
  CHECK_FALSE(described<std::string>);
  receiver::derived_and_told d;
  d.a = 3;
  d.b = 4;
  auto const back = hocket::decode_object<receiver::derived_and_told>(hocket::encode_object(d));
  CHECK(back.a == 3);
  CHECK(back.b == 4);
}

TEST_CASE("a field name has 1 to 255 bytes") {
  receiver::badly_named b;
  CHECK_THROWS_AS((void)hocket::encode_object(b), hocket::error);
  b.name = std::string(256, 'n');
  CHECK_THROWS_AS((void)hocket::encode_object(b), hocket::error);
  b.name = std::string(255, 'n');
  CHECK_NOTHROW((void)hocket::encode_object(b));
}
