// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "stage.hpp"

#include <hocket/parallel/context_parallel.hpp>
#include <span>
#include <utility>

namespace embed {

namespace asio = boost::asio;
using hocket::dtype;
using hocket::process_group;
using hocket::split_plan;
using hocket::tensor;

namespace {

std::span<float> floats(tensor const& t) {
  return {t.data<float>(), static_cast<std::size_t>(t.numel())};
}

// Where this rank's rows begin in the sequence; a part without rows has no place.
std::size_t first_row(split_plan const& plan, int part) {
  auto const pieces = plan.pieces(part);
  return pieces.size() == 0 ? 0 : static_cast<std::size_t>(pieces[0].full_start);
}

}  // namespace

stage::stage(embed_job const& job, int index, asio::any_io_executor executor)
    : config_(job.model->config()),
      weights_(job.model->weights(layers_of_stage(config_.layers, static_cast<std::size_t>(job.pp),
                                                  static_cast<std::size_t>(index)))),
      stream_(job.workers),
      clock_(std::make_shared<rank_clock>(std::move(executor))) {}

stage::scratch_loan::scratch_loan(std::vector<std::unique_ptr<layer_scratch>>& stock)
    : stock_(stock) {
  if (stock_.empty()) {
    scratch_ = std::make_unique<layer_scratch>();
  } else {
    scratch_ = std::move(stock_.back());
    stock_.pop_back();
  }
}

asio::awaitable<tensor> stage::embed_rows(tensor ids, split_plan plan, process_group cp) {
  tensor const part = hocket::split_inputs_cp(ids, plan, cp);
  auto const hidden = static_cast<std::int64_t>(config_.hidden);
  tensor x = tensor::empty(dtype::f32, hocket::shape(part.size(0), hidden));
  auto const look_up = [&] {
    embed_tokens(weights_.embeddings(), config_, part.as_span<token_id>(),
                 first_row(plan, cp.rank().value()), floats(x));
  };
  co_await compute(look_up);
  co_return x;
}

asio::awaitable<void> stage::run_layers(tensor x, split_plan plan, process_group cp) {
  attention_shape const shape = shape_of(config_, static_cast<std::size_t>(x.size(0)),
                                         static_cast<std::size_t>(plan.length()));
  scratch_loan const loan(stock_);
  layer_scratch& scratch = *loan;
  scratch.fit(config_, shape);
  tensor const key = tensor::empty(dtype::f32, x.shape());
  tensor const value = tensor::empty(dtype::f32, x.shape());

  for (layer_weights const& layer : weights_.layers()) {
    auto const project_key = [&] { apply_linear(layer.key, floats(x), floats(key)); };
    co_await compute(project_key);
    auto gathering_keys = hocket::cat_outputs_cp(key, plan, cp);
    clock_->watch(gathering_keys);

    auto const project_value = [&] { apply_linear(layer.value, floats(x), floats(value)); };
    co_await compute(project_value);
    auto gathering_values = hocket::cat_outputs_cp(value, plan, cp);
    clock_->watch(gathering_values);

    auto const project_query = [&] { apply_linear(layer.query, floats(x), scratch.query); };
    co_await compute(project_query);

    tensor const keys = co_await std::move(gathering_keys);
    auto const score = [&] { attend_keys(shape, keys.as_span<float>(), scratch); };
    co_await compute(score);

    tensor const values = co_await std::move(gathering_values);
    auto const finish = [&] {
      attend_values(layer, config_, shape, values.as_span<float>(), floats(x), scratch);
    };
    co_await compute(finish);
  }
}

asio::awaitable<tensor> stage::pool_rows(tensor x, split_plan plan, process_group cp) {
  auto const hidden = static_cast<std::int64_t>(config_.hidden);
  tensor const part = tensor::zeros(dtype::f32, hocket::shape(1, hidden));
  auto const add_up = [&] { add_rows(floats(x), floats(part)); };
  co_await compute(add_up);

  // Each rank's sum is one row, whatever number of rows it had.
  split_plan const one_each =
      hocket::make_split_plan(hocket::layout::strict, cp.size(), cp.size(), 0);
  auto gathering = hocket::cat_outputs_cp(part, one_each, cp);
  clock_->watch(gathering);
  tensor const sums = co_await std::move(gathering);

  tensor embedding = tensor::zeros(dtype::f32, hocket::shape(1, hidden));
  auto const normalise = [&] {
    add_rows(sums.as_span<float>(), floats(embedding));
    mean_to_unit(floats(embedding), static_cast<std::size_t>(plan.length()));
  };
  co_await compute(normalise);
  co_return embedding;
}

}  // namespace embed
