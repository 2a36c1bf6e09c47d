// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The real model against ids and vectors that were made without this project's code:
// tests/data/make_embed_reference.py.
#include <doctest/doctest.h>

#include <cstdio>

#include "embed_local.hpp"
#include "embed_ranks.hpp"
#include "embed_support.hpp"
#include "model_directory.hpp"

namespace {

// The model's directory, or an empty path after saying that the test is skipped.
std::filesystem::path find_model() {
  std::filesystem::path directory = embed::model_directory();
  if (embed::has_model(directory)) return directory;
  std::printf("SKIPPED: no model in %s; examples/embed/get_model.sh fetches it\n",
              directory.c_str());
  return {};
}

std::vector<float> expected_of(boost::json::value const& record) {
  std::vector<float> vector;
  for (boost::json::value const& x : record.at("embedding").as_array())
    vector.push_back(x.to_number<float>());
  return vector;
}

// Asks as the program does: from the text, through the tokeniser.
class text_client final : public embed_test::list_client {
 public:
  explicit text_client(boost::json::array const& r)
      : list_client(std::vector<embed_test::id_list>(r.size())), records_(r) {}
  embed_test::id_list tokens(embed::bert_model const& model, std::size_t index) override {
    return model.encode(std::string_view(records_[index].at("text").as_string()));
  }

 private:
  boost::json::array const& records_;
};

}  // namespace

TEST_CASE("40 texts have the ids of the reference and its vectors to 1e-4") {
  std::filesystem::path const directory = find_model();
  if (directory.empty()) return;
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
    std::vector<float> const expected = expected_of(record);
    std::vector<float> const vector = embed::embed_local(model.config(), weights, ids);
    double const difference = embed_test::max_abs_difference(vector, expected);
    CHECK(difference < 1e-4);
    worst = std::max(worst, difference);
  }
  std::printf("40 texts, largest difference from the reference %.3g\n", worst);
}

TEST_CASE("four ranks, cp 2 x pp 2, give the vectors of the reference to 1e-4") {
  std::filesystem::path const directory = find_model();
  if (directory.empty()) return;
  boost::json::array const records = embed_test::read_reference();
  text_client client(records);
  embed_test::run_embed_ranks(std::make_shared<embed::bert_model const>(directory), 2, 2, 6,
                              client);
  REQUIRE(client.embeddings.size() == records.size());
  double worst = 0;
  for (std::size_t i = 0; i < records.size(); ++i) {
    CAPTURE(i);
    auto const expected = expected_of(records[i]);
    double const difference = embed_test::max_abs_difference(client.embeddings[i], expected);
    CHECK(difference < 1e-4);
    worst = std::max(worst, difference);
  }
  std::printf("40 texts on 4 ranks, largest difference from the reference %.3g\n", worst);
}
