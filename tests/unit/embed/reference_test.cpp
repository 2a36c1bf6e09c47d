// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The real model against ids and vectors that were made without this project's code:
// tests/data/make_embed_reference.py.
#include <doctest/doctest.h>

#include <cstdio>

#include "embed_local.hpp"
#include "embed_support.hpp"
#include "model_directory.hpp"

TEST_CASE("40 texts have the ids of the reference and its vectors to 1e-4") {
  std::filesystem::path const directory = embed::model_directory();
  if (!embed::has_model(directory)) {
    std::printf("SKIPPED: no model in %s; examples/embed/get_model.sh fetches it\n",
                directory.c_str());
    return;
  }
  embed::bert_model const model(directory);
  embed::bert_weights const weights = model.weights();
  double worst = 0;
  for (boost::json::value const& record : embed_test::read_reference()) {
    std::string_view const text = record.at("text").as_string();
    CAPTURE(std::string(text.substr(0, 100)));
    std::vector<embed::token_id> ids;
    for (boost::json::value const& id : record.at("ids").as_array())
      ids.push_back(id.to_number<embed::token_id>());
    CHECK(model.encode(text) == ids);
    std::vector<float> expected;
    for (boost::json::value const& x : record.at("embedding").as_array())
      expected.push_back(x.to_number<float>());
    std::vector<float> const vector = embed::embed_local(model.config(), weights, ids);
    double const difference = embed_test::max_abs_difference(vector, expected);
    CHECK(difference < 1e-4);
    worst = std::max(worst, difference);
  }
  std::printf("40 texts, largest difference from the reference %.3g\n", worst);
}
