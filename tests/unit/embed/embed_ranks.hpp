// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/thread_pool.hpp>
#include <exception>
#include <functional>
#include <hocket/group/local_world.hpp>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "embed_rank.hpp"

namespace embed_test {

using id_list = std::vector<embed::token_id>;

/// A client whose requests are token ids; keeps what it gets.
class list_client : public embed::client {
 public:
  explicit list_client(std::vector<id_list> r) : requests(std::move(r)) {}

  std::size_t open() override { return requests.size(); }
  id_list tokens(embed::bert_model const&, std::size_t index) override { return requests[index]; }
  void take(std::size_t index, std::span<float const> embedding) override {
    if (index != embeddings.size()) throw std::logic_error("out of order");
    embeddings.emplace_back(embedding.begin(), embedding.end());
  }
  void report(std::span<embed::rank_figures const> f) override {
    figures.assign(f.begin(), f.end());
  }

  std::vector<id_list> requests;
  std::vector<std::vector<float>> embeddings;
  std::vector<embed::rank_figures> figures;
};

/// Runs cp * pp ranks until all have ended; what ended each of them, null for those that ended
/// well.
inline std::vector<std::exception_ptr> end_of_embed_ranks(
    std::shared_ptr<embed::bert_model const> model, int cp, int pp, std::size_t in_flight,
    embed::client& client) {
  embed::embed_job job;
  job.model = std::move(model);
  job.cp = cp;
  job.pp = pp;
  job.in_flight = in_flight;
  job.client = &client;
  boost::asio::thread_pool workers(2);
  job.workers = workers.get_executor();
  boost::asio::io_context context(1);
  hocket::local_world ranks(context.get_executor(), cp * pp);
  ranks.spawn([&job](hocket::world w) { return embed::embed_rank(std::move(w), job); });
  context.run();
  workers.join();
  std::vector<std::exception_ptr> failures;
  for (int rank = 0; rank < ranks.size(); ++rank) failures.push_back(ranks.failure(rank));
  return failures;
}

/// The same; rethrows the first failure.
inline void run_embed_ranks(std::shared_ptr<embed::bert_model const> model, int cp, int pp,
                            std::size_t in_flight, embed::client& client) {
  for (auto const& failure : end_of_embed_ranks(std::move(model), cp, pp, in_flight, client))
    if (failure) std::rethrow_exception(failure);
}

}  // namespace embed_test
