// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The distributed program against the whole model on one thread.
#include <doctest/doctest.h>

#include "embed_local.hpp"
#include "embed_ranks.hpp"
#include "embed_support.hpp"

using embed_test::id_list;

namespace {

// Token ids that depend on position and length; any model's vocabulary holds them.
id_list ids_of_length(std::size_t vocabulary, std::size_t length) {
  id_list ids(length);
  for (std::size_t i = 0; i < length; ++i)
    ids[i] = static_cast<embed::token_id>((i * i * 7 + i * 3 + length) % vocabulary);
  return ids;
}

std::shared_ptr<embed::bert_model const> tiny_model() {
  embed_test::tiny_directory const directory;  // the model keeps its file mapped
  return std::make_shared<embed::bert_model const>(directory.path());
}

std::vector<id_list> requests_of_all_lengths(embed::bert_model const& model) {
  std::vector<id_list> requests;
  for (std::size_t const length : {17UL, 1UL, 256UL, 2UL, 128UL, 3UL, 1UL, 17UL})
    requests.push_back(ids_of_length(model.config().vocabulary, length));
  return requests;
}

void expect_local_results(int cp, int pp, std::size_t in_flight) {
  CAPTURE(cp);
  CAPTURE(pp);
  CAPTURE(in_flight);
  auto const model = tiny_model();
  embed_test::list_client client(requests_of_all_lengths(*model));
  embed_test::run_embed_ranks(model, cp, pp, in_flight, client);
  REQUIRE(client.embeddings.size() == client.requests.size());
  embed::bert_weights const weights = model->weights();
  for (std::size_t i = 0; i < client.requests.size(); ++i) {
    CAPTURE(client.requests[i].size());
    auto const whole = embed::embed_local(model->config(), weights, client.requests[i]);
    CHECK(embed_test::max_abs_difference(whole, client.embeddings[i]) < 1e-5);
  }
}

}  // namespace

TEST_CASE("ranks of every grid give the vectors of the whole model, several in flight, in order") {
  for (int cp = 1; cp <= 4; ++cp)
    for (int pp = 1; pp <= 3; ++pp) expect_local_results(cp, pp, 5);
}

TEST_CASE("one request in flight, and more than there are, give the same vectors") {
  expect_local_results(3, 2, 1);
  expect_local_results(2, 3, 100);
}

TEST_CASE("a client without requests is told the figures and nothing else") {
  embed_test::list_client client{std::vector<id_list>()};
  embed_test::run_embed_ranks(tiny_model(), 2, 2, 4, client);
  CHECK(client.embeddings.empty());
  CHECK(client.figures.size() == 4);
}

TEST_CASE("figures come from every rank and fit into its time") {
  auto const model = tiny_model();
  embed_test::list_client client(requests_of_all_lengths(*model));
  embed_test::run_embed_ranks(model, 2, 3, 4, client);
  REQUIRE(client.figures.size() == 6);
  double in_flight = 0;  // a rank that always comes last never waits
  for (embed::rank_figures const& f : client.figures) {
    CHECK(f.compute > 0);
    CHECK(f.exposed >= 0);
    CHECK(f.hidden >= 0);
    in_flight += f.exposed + f.hidden;
    CHECK(f.exposed + f.hidden <= f.wall);
    CHECK(f.compute <= f.wall);
  }
  CHECK(in_flight > 0);
}
