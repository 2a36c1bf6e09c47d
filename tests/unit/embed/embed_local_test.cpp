// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "embed_local.hpp"

#include <doctest/doctest.h>

#include <array>

#include "embed_support.hpp"

namespace {

// Token ids that depend on position and length; any model's vocabulary holds them.
std::vector<embed::token_id> ids_of_length(embed::bert_model const& model, std::size_t length) {
  std::vector<embed::token_id> ids(length);
  for (std::size_t i = 0; i < length; ++i)
    ids[i] = static_cast<embed::token_id>((i * i * 7 + i * 3 + length) % model.config().vocabulary);
  return ids;
}

// One context-parallel rank between two gathers.
struct shard {
  std::size_t first = 0;
  embed::attention_shape shape;
  std::vector<float> x, key, value;
  embed::layer_scratch scratch;
};

using part = std::vector<float> shard::*;

std::vector<float> joined(std::vector<shard> const& shards, part which) {
  std::vector<float> all;
  for (shard const& s : shards) all.insert(all.end(), (s.*which).begin(), (s.*which).end());
  return all;
}

// The steps as ranks run them, with a copy in place of each gather and hand-over: `cp` shards (the
// first ones longer), `pp` stages that each load only their own layers.
std::vector<float> embed_in_shards(embed::bert_model const& model,
                                   std::vector<embed::token_id> const& ids, std::size_t cp,
                                   std::size_t pp) {
  embed::bert_config const& config = model.config();
  std::vector<shard> shards(cp);
  std::size_t first = 0;
  for (std::size_t rank = 0; rank < cp; ++rank) {
    std::size_t const rows = ids.size() / cp + (rank < ids.size() % cp ? 1 : 0);
    shard& s = shards[rank];
    s.first = first;
    s.shape = embed::shape_of(config, rows, ids.size());
    s.scratch.fit(config, s.shape);
    for (part const which : {&shard::x, &shard::key, &shard::value})
      (s.*which).resize(rows * config.hidden);
    first += rows;
  }
  for (std::size_t stage = 0; stage < pp; ++stage) {
    auto const weights = model.weights(embed::layers_of_stage(config.layers, pp, stage));
    for (shard& s : shards) {
      if (stage == 0)
        embed::embed_tokens(weights.embeddings(), config,
                            std::span(ids).subspan(s.first, s.shape.rows), s.first, s.x);
    }
    for (embed::layer_weights const& layer : weights.layers()) {
      for (shard& s : shards) {
        embed::apply_linear(layer.key, s.x, s.key);
        embed::apply_linear(layer.value, s.x, s.value);
        embed::apply_linear(layer.query, s.x, s.scratch.query);
      }
      std::vector<float> const keys = joined(shards, &shard::key);
      std::vector<float> const values = joined(shards, &shard::value);
      for (shard& s : shards) {
        embed::attend_keys(s.shape, keys, s.scratch);
        embed::attend_values(layer, config, s.shape, values, s.x, s.scratch);
      }
    }
  }
  std::vector<float> sum(config.hidden);
  for (shard const& s : shards) embed::add_rows(s.x, sum);
  embed::mean_to_unit(sum, ids.size());
  return sum;
}

}  // namespace

TEST_CASE("shards and stages give the vector of the whole model for any length") {
  embed_test::tiny_directory const directory;
  embed::bert_model const model(directory.path());
  embed::bert_weights const weights = model.weights();
  for (std::size_t const length : {1UL, 2UL, 3UL, 17UL, 128UL, 256UL}) {
    auto const ids = ids_of_length(model, length);
    std::vector<float> const whole = embed::embed_local(model.config(), weights, ids);
    for (std::size_t cp = 1; cp <= 4; ++cp) {
      for (std::size_t pp = 1; pp <= 3; ++pp) {
        CAPTURE(length);
        CAPTURE(cp);
        CAPTURE(pp);
        CHECK(embed_test::max_abs_difference(whole, embed_in_shards(model, ids, cp, pp)) < 1e-5);
      }
    }
  }
}

TEST_CASE("a tiny model tells sentences, their order and their length apart") {
  embed_test::tiny_directory const directory;
  embed::bert_model const model(directory.path());
  embed::bert_weights const weights = model.weights();
  auto const vector_of = [&](std::string_view text) {
    return embed::embed_local(model.config(), weights, model.encode(text));
  };
  std::vector<float> const base = vector_of("the cat sat on the mat");
  CHECK(base == vector_of("  THE cat sat\ton the mat "));
  for (char const* const other : {"the mat sat on the cat", "the cat sat on the", "", "a"})
    CHECK(embed_test::max_abs_difference(base, vector_of(other)) > 1e-3);
}

TEST_CASE("tokens that the model cannot take are refused with their numbers") {
  embed_test::tiny_directory const directory;
  embed::bert_model const model(directory.path());
  embed::bert_weights const weights = model.weights();
  auto const refused = [&](std::vector<embed::token_id> const& ids) {
    auto const e =
        embed_test::error_of([&] { (void)embed::embed_local(model.config(), weights, ids); });
    CHECK(e.code() == hocket::errc::invalid_argument);
    return std::string(e.what());
  };
  CHECK(refused({}).find("0 tokens") == 0);
  CHECK(refused({2, -1, 3}).find("token -1 at position 1") == 0);
  auto const past = static_cast<embed::token_id>(model.config().vocabulary);
  CHECK(refused({2, 3, past}).find("token " + std::to_string(past) + " at position 2") == 0);
  CHECK(refused(std::vector<embed::token_id>(513, 2)).find("513 tokens from position 0") == 0);
  embed::bert_weights const half = model.weights({0, 2});
  std::array<embed::token_id, 2> const ids = {2, 3};
  auto const e = embed_test::error_of([&] { (void)embed::embed_local(model.config(), half, ids); });
  CHECK(e.code() == hocket::errc::invalid_argument);
}
