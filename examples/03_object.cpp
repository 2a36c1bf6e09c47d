// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A request travels as an object: rank 0 has it, every rank gets it, tensors included.
#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <cstdio>
#include <hocket/hocket.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;

struct request {
  std::uint64_t id = 0;
  std::string prompt;
  std::vector<std::int32_t> tokens;
  std::optional<hocket::tensor> image;
};

// What travels, said once for both directions.
template <class Visitor>
void hocket_describe(Visitor& v, request& r) {
  v(r.id, "id");
  v(r.prompt, "prompt");
  v(r.tokens, "tokens");
  v(r.image, "image");
}

asio::awaitable<void> rank_main(hocket::world w) {
  std::optional<request> mine;
  if (w.rank().value() == 0) {
    mine.emplace();
    mine->id = 7;
    mine->prompt = "two voices take turns";
    mine->tokens = {101, 2048, 5755, 102};
    mine->image = hocket::tensor::arange(hocket::dtype::f32, {2, 3});
  }
  auto got = co_await w.group().broadcast_object(std::move(mine), hocket::group_rank(0));
  std::printf("rank %d: request %llu \"%s\", %zu tokens, image %s\n", w.rank().value(),
              static_cast<unsigned long long>(got.id), got.prompt.c_str(), got.tokens.size(),
              to_string(got.image->shape()).c_str());
}

int main() {
  asio::io_context ctx;
  hocket::local_world ranks(ctx.get_executor(), 3);
  ranks.spawn(rank_main);
  ctx.run();
  ranks.rethrow();
}
