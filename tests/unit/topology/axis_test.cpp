// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include <hocket/topology/axis.hpp>
#include <hocket/topology/order.hpp>
#include <type_traits>
#include <vector>

#include "refusal.hpp"

using hocket::axis;
using hocket::axis_set;
using hocket::order;
using hocket::test::is_refused;
using hocket::test::refusal;

namespace {
std::vector<axis> axes_of(order const& o) { return {o.axes().begin(), o.axes().end()}; }
}  // namespace

TEST_CASE("the order of names inside an axis set is free") {
  CHECK(axis_set::parse("tp-dp-cp") == axis_set::parse("CP-tp-Dp"));
  CHECK(axis_set::parse("dp-cp") == axis_set(axis::cp, axis::dp));
  CHECK(axis_set::parse("pp-tp").text() == "tp-pp");
  CHECK(axis_set(axis::ep).contains(axis::ep));
  CHECK(!axis_set(axis::ep).contains(axis::tp));
  CHECK(axis_set().empty());
  CHECK(axis_set().text().empty());
}

TEST_CASE("an axis set with a name that is unknown, repeated or empty is refused") {
  for (auto text : {"", "tp-", "-tp", "tp--cp", "tp cp", "tp -cp", "xp", "tp-tp", "tp-TP", "tpcp"})
    CHECK_MESSAGE(is_refused(refusal([&] { return axis_set::parse(text); })), text);
  CHECK(refusal([] { return axis_set::parse("tp-xx"); }) ==
        "axis set \"tp-xx\": \"xx\" is not an axis; the axes are tp, cp, ep, dp, pp");
}

TEST_CASE("innermost first and outermost first are the same order read from two ends") {
  CHECK(order::outermost_first("dp-ep-pp-tp-cp") == order::innermost_first("cp-tp-pp-ep-dp"));
  CHECK(order::outermost_first("dp-ep-pp-tp-cp") != order::innermost_first("dp-ep-pp-tp-cp"));
  CHECK(order::outermost_first("dp-pp-tp").text() == "tp-pp-dp");
  CHECK(order() == order::innermost_first("TP-CP-EP-DP-PP"));
}

TEST_CASE("axes that an order leaves out follow in Megatron's order") {
  CHECK(axes_of(order::innermost_first("cp")) ==
        std::vector{axis::cp, axis::tp, axis::pp, axis::dp, axis::ep});
  CHECK(axes_of(order::innermost_first("tp-cp-pp-dp")) ==
        std::vector{axis::tp, axis::cp, axis::pp, axis::dp, axis::ep});
  CHECK(axes_of(order::outermost_first("dp-tp")) ==
        std::vector{axis::tp, axis::dp, axis::pp, axis::ep, axis::cp});
  auto const o = order::innermost_first("tp-cp-pp");
  CHECK(o.text() == "tp-cp-pp");
  CHECK(o.names(axis::pp));
  CHECK(!o.names(axis::dp));
}

TEST_CASE("an order with a name that is unknown, repeated or empty is refused") {
  for (auto text : {"", "-", "tp-", "tp--dp", "tp - dp", "tp-xx", "tp-tp-dp", "xx-tp-dp-pp"}) {
    CHECK_MESSAGE(is_refused(refusal([&] { return order::innermost_first(text); })), text);
    CHECK_MESSAGE(is_refused(refusal([&] { return order::outermost_first(text); })), text);
  }
  CHECK(refusal([] { return order::innermost_first("tp-tp-dp"); }) ==
        "order \"tp-tp-dp\": tp is named twice");
  CHECK(refusal([] { return order::innermost_first("tp--dp"); }) ==
        "order \"tp--dp\": name 2 is empty");
}
