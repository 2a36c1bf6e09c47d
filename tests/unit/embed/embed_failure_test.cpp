// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Whatever fails, on whichever rank: all ranks end, and each knows why.
#include <doctest/doctest.h>

#include <hocket/error.hpp>
#include <string>

#include "embed_ranks.hpp"
#include "embed_support.hpp"

using embed_test::id_list;
using embed_test::list_client;

namespace {

std::shared_ptr<embed::bert_model const> tiny_model() {
  embed_test::tiny_directory const directory;
  return std::make_shared<embed::bert_model const>(directory.path());
}

hocket::error told(std::exception_ptr const& failure) {
  return embed_test::error_of([&failure] {
    if (failure) std::rethrow_exception(failure);
  });
}

std::vector<id_list> plain_requests(std::size_t count) {
  std::vector<id_list> requests;
  for (std::size_t i = 0; i < count; ++i)
    requests.emplace_back(i % 9 + 1, static_cast<embed::token_id>(i + 5));
  return requests;
}

}  // namespace

TEST_CASE("a client that cannot open its input fails every rank with the same code and story") {
  class closed final : public list_client {
   public:
    using list_client::list_client;
    std::size_t open() override {
      throw hocket::error(hocket::errc::corrupt, "notes.txt, line 3: byte 7 is bad");
    }
  };
  closed client{std::vector<id_list>()};
  auto const failures = embed_test::end_of_embed_ranks(tiny_model(), 2, 2, 4, client);
  REQUIRE(failures.size() == 4);
  for (auto const& failure : failures) {
    CHECK(told(failure).code() == hocket::errc::corrupt);
    CHECK(told(failure).what() == std::string("notes.txt, line 3: byte 7 is bad"));
  }
}

TEST_CASE("a token that only one rank meets fails that rank, and its story reaches the others") {
  // The last of four tokens: it is on the last of the context-parallel ranks.
  auto requests = plain_requests(12);
  requests[5] = {2, 3, 4, 999'999};
  list_client client(std::move(requests));
  auto const failures = embed_test::end_of_embed_ranks(tiny_model(), 2, 3, 4, client);
  REQUIRE(failures.size() == 6);
  for (std::size_t rank = 0; rank < failures.size(); ++rank) {
    CAPTURE(rank);
    hocket::error const e = told(failures[rank]);
    CAPTURE(std::string(e.what()));
    CHECK(e.code() == (rank == 1 ? hocket::errc::invalid_argument : hocket::errc::revoked));
    CHECK(std::string(e.what()).find("token 999999 at position 3") != std::string::npos);
  }
}

TEST_CASE("a client that takes no more ends all ranks with its own words") {
  class full final : public list_client {
   public:
    using list_client::list_client;
    void take(std::size_t index, std::span<float const> embedding) override {
      if (index == 3) throw std::runtime_error("the disk is full");
      list_client::take(index, embedding);
    }
  };
  full client(plain_requests(20));
  auto const failures = embed_test::end_of_embed_ranks(tiny_model(), 3, 2, 4, client);
  CHECK(client.embeddings.size() == 3);
  CHECK_THROWS_WITH_AS(std::rethrow_exception(failures[0]), "the disk is full", std::runtime_error);
  for (std::size_t rank = 1; rank < failures.size(); ++rank)
    CHECK(std::string(told(failures[rank]).what()).find("rank 0: the disk is full") !=
          std::string::npos);
}

TEST_CASE("more stages than layers are refused on every rank") {
  list_client client(plain_requests(3));
  auto const failures = embed_test::end_of_embed_ranks(tiny_model(), 1, 5, 4, client);
  for (auto const& failure : failures)
    CHECK(told(failure).code() == hocket::errc::invalid_argument);
  CHECK(client.embeddings.empty());
}

TEST_CASE("a world of another size than the grid is refused with the numbers") {
  list_client client{std::vector<id_list>()};
  embed::embed_job job;
  job.cp = 2;
  job.pp = 2;
  job.client = &client;
  boost::asio::io_context context(1);
  hocket::local_world ranks(context.get_executor(), 3);
  ranks.spawn([&job](hocket::world w) { return embed::embed_rank(std::move(w), job); });
  context.run();
  for (int rank = 0; rank < 3; ++rank)
    CHECK(told(ranks.failure(rank)).code() == hocket::errc::invalid_argument);
}
