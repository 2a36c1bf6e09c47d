// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "report.hpp"

#include <doctest/doctest.h>

#include <array>

#include "embed_support.hpp"

TEST_CASE("a line of output reads back to the same text and the same floats") {
  std::vector<float> const vector = {0.1F, -3.0e-8F, 1, 0, 0.33333334F};
  std::string const text = "quote \" back\\slash \u00e9 \U0001F680 tab\t";
  std::string const line = embed::json_line(text, vector);
  CHECK(line.find('\n') == std::string::npos);
  boost::json::value const read = boost::json::parse(line);
  CHECK(std::string_view(read.at("text").as_string()) == text);
  boost::json::array const& numbers = read.at("embedding").as_array();
  REQUIRE(numbers.size() == vector.size());
  for (std::size_t i = 0; i < vector.size(); ++i)
    CHECK(static_cast<float>(numbers[i].to_number<double>()) == vector[i]);
}

TEST_CASE("the closest pairs come first and ties keep the order of the vectors") {
  std::vector<std::vector<float>> const vectors = {{1, 0}, {0, 1}, {0.6F, 0.8F}, {1, 0}, {0, 1}};
  auto const pairs = embed::closest_pairs(vectors, 3);
  REQUIRE(pairs.size() == 3);
  CHECK(pairs[0].first == 0);
  CHECK(pairs[0].second == 3);
  CHECK(pairs[1].first == 1);
  CHECK(pairs[1].second == 4);
  CHECK(pairs[2].first == 1);
  CHECK(pairs[2].second == 2);
  CHECK(pairs[2].similarity == 0.8F);
  CHECK(embed::closest_pairs(vectors, 100).size() == 10);
  CHECK(embed::closest_pairs(vectors, 0).empty());
  CHECK(embed::closest_pairs(std::span(vectors).first(1), 3).empty());
}
