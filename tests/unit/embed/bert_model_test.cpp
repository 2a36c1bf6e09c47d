// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>

#include "bert_encoder.hpp"
#include "embed_support.hpp"
#include "model_directory.hpp"

using embed::layer_range;
using embed_test::error_of;

TEST_CASE("stages share the layers, the first ones take one more") {
  for (std::size_t layers = 1; layers <= 9; ++layers) {
    for (std::size_t stages = 1; stages <= layers; ++stages) {
      CAPTURE(layers);
      CAPTURE(stages);
      std::size_t next = 0;
      for (std::size_t stage = 0; stage < stages; ++stage) {
        layer_range const range = embed::layers_of_stage(layers, stages, stage);
        CHECK(range.first == next);
        CHECK(range.size() == layers / stages + (stage < layers % stages ? 1 : 0));
        next = range.last;
      }
      CHECK(next == layers);
    }
  }
  for (auto const& [stages, stage] :
       {std::pair(7UL, 0UL), std::pair(3UL, 3UL), std::pair(0UL, 0UL)}) {
    auto const e = error_of([&] { (void)embed::layers_of_stage(6, stages, stage); });
    CHECK(e.code() == hocket::errc::invalid_argument);
  }
}

TEST_CASE("a tiny model is read back with the sizes it was written with") {
  embed_test::tiny_directory const directory;
  REQUIRE(embed::has_model(directory.path()));
  embed::bert_model const model(directory.path());
  CHECK(model.config().hidden == 24);
  CHECK(model.config().heads == 3);
  CHECK(model.config().head_width() == 8);
  CHECK(model.config().layers == 4);
  CHECK(model.config().tokens_max == 256);
  CHECK(model.config().vocabulary == model.tokeniser().size());
  embed::bert_weights const all = model.weights();
  CHECK(all.layers().size() == 4);
  embed::bert_weights const some = model.weights({1, 3});
  REQUIRE(some.layers().size() == 2);
  CHECK(some.layers()[0].key.weight.data() == all.layers()[1].key.weight.data());
  CHECK(some.layers()[1].up.outputs() == 56);
  CHECK(some.layers()[1].up.inputs() == 24);
  auto const e = error_of([&] { (void)model.weights({3, 5}); });
  CHECK(e.code() == hocket::errc::invalid_argument);
}

TEST_CASE("equal options write equal bytes, another seed other ones") {
  auto const bytes_of = [](std::uint64_t seed) {
    embed::tiny_model_options options;
    options.seed = seed;
    embed_test::tiny_directory const directory(options);
    std::ifstream in(directory.path() / "model.safetensors", std::ios::binary);
    return std::string((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  };
  std::string const first = bytes_of(5);
  CHECK(first.size() > 4 * 24 * 512);
  CHECK(first == bytes_of(5));
  CHECK(first != bytes_of(6));
}

TEST_CASE("a configuration that is no uncased BERT is refused") {
  embed_test::tiny_directory const directory;
  constexpr std::string_view sizes =
      R"("hidden_size":24,"num_hidden_layers":4,"num_attention_heads":3,"intermediate_size":56,)"
      R"("max_position_embeddings":512,"vocab_size":200,"type_vocab_size":2,)"
      R"("layer_norm_eps":1e-12)";
  auto const refused = [&directory](std::string const& config) {
    directory.write("config.json", config);
    return error_of([&] { (void)embed::read_bert_config(directory.path()); });
  };
  auto const plain = "{" + std::string(sizes) + "}";
  CHECK(refused(plain).code() == boost::system::error_code());
  CHECK(refused(R"({"hidden_act":"relu",)" + plain.substr(1)).code() == hocket::errc::unsupported);
  CHECK(refused(R"({"model_type":"t5",)" + plain.substr(1)).code() == hocket::errc::unsupported);
  auto const replaced = [&plain](std::string_view from, std::string_view to) {
    std::string text = plain;
    return text.replace(text.find(from), from.size(), to);
  };
  CHECK(refused(replaced("heads\":3", "heads\":5")).code() == hocket::errc::corrupt);
  CHECK(refused(replaced("heads\":3", "heads\":0")).code() == hocket::errc::corrupt);
  CHECK(refused(replaced("512", "1099511627776")).code() == hocket::errc::corrupt);
  CHECK(refused(replaced("hidden_size", "hidden_sice")).code() == hocket::errc::corrupt);
  CHECK(refused(replaced("1e-12", "\"small\"")).code() == hocket::errc::corrupt);
  CHECK(refused(replaced("1e-12", "-1")).code() == hocket::errc::corrupt);
  CHECK(refused(replaced("1e-12", "1e300")).code() == hocket::errc::corrupt);
  CHECK(refused("{").code() == hocket::errc::corrupt);
  CHECK(refused("").code() == hocket::errc::corrupt);
  directory.write("config.json", plain);
  directory.write("tokenizer_config.json", R"({"do_lower_case":false})");
  auto const cased = error_of([&] { (void)embed::read_bert_config(directory.path()); });
  CHECK(cased.code() == hocket::errc::unsupported);
}

TEST_CASE("weights of other sizes than the configuration's are refused by name") {
  embed_test::tiny_directory const directory;
  embed::bert_model const model(directory.path());
  embed::bert_config config = model.config();
  config.intermediate = 57;
  auto const file =
      std::make_shared<embed::safetensors_file const>(directory.path() / "model.safetensors");
  auto const e = error_of([&] { embed::bert_weights const weights(file, config, {2, 3}); });
  CHECK(e.code() == hocket::errc::corrupt);
  CHECK(std::string(e.what()).find("encoder.layer.2.intermediate.dense.weight\" is [56,24], the "
                                   "configuration says [57,24]") != std::string::npos);
}

TEST_CASE("a vocabulary larger than the model's is refused") {
  embed_test::tiny_directory const directory;
  std::ofstream(directory.path() / "vocab.txt", std::ios::app) << "extra\n";
  auto const e = error_of([&] { embed::bert_model const model(directory.path()); });
  CHECK(e.code() == hocket::errc::corrupt);
}

TEST_CASE("sizes that make no model are refused before a file is written") {
  embed_test::scratch_directory const directory;
  embed::tiny_model_options options;
  options.heads = 5;
  auto const e = error_of([&] { embed::write_tiny_model(directory.path() / "m", options); });
  CHECK(e.code() == hocket::errc::invalid_argument);
  CHECK_FALSE(std::filesystem::exists(directory.path() / "m"));
}
