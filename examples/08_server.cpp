// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A server of three ranks: rank 0 accepts requests, all ranks work on each, several are under way
// at once. A request is a coroutine with a channel of its own.
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <hocket/hocket.hpp>
#include <iterator>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using asio::ip::tcp;
using hocket::tensor;

namespace {

constexpr int clients = 3;
auto const root = hocket::group_rank(0);

struct request {
  std::uint64_t id = 0;  // 0: no more requests
  std::int64_t length = 0;
};
template <class Visitor>
void hocket_describe(Visitor& v, request& r) {
  v(r.id, "id"), v(r.length, "length");
}

tensor square(tensor const& x) {
  auto y = x.clone();
  for (std::int64_t i = 0; i < y.numel(); ++i) y.data<float>()[i] *= y.data<float>()[i];
  return y;
}

// [server]
// Every rank's share of one request; rank 0 has the numbers, every rank gets the whole result.
asio::awaitable<tensor> serve(hocket::world w, hocket::host_stream& device, request r, tensor x) {
  auto channel = w.group().channel(r.id);  // apart from all other requests
  auto plan = hocket::make_split_plan(hocket::layout::balanced, r.length, w.size(), 0);
  auto part = tensor::empty(hocket::dtype::f32, {plan.part_size(w.rank().value())});
  co_await channel.scatter_v(part, x, plan, root);
  auto compute = [part] { return square(part); };
  auto mine = co_await device.run(compute);  // on the rank's worker; this thread goes on
  auto y = co_await hocket::cat_outputs_cp(mine, plan, channel);
  channel.close_channel();
  co_return y;
}

// Rank 0: one connection. The broadcast tells the others that there is a request.
asio::awaitable<void> session(hocket::world w, hocket::host_stream& device, tcp::socket socket,
                              std::uint64_t id) {
  std::string line;
  co_await asio::async_read_until(socket, asio::dynamic_buffer(line), '\n', asio::use_awaitable);
  std::istringstream in(line);
  std::vector<float> const numbers(std::istream_iterator<float>(in), {});
  auto x = tensor::from(std::span(numbers), {numbers.size()});
  request r;
  r.id = id;
  r.length = x.numel();
  co_await w.group().broadcast_object(std::optional(r), root);
  auto y = co_await serve(w, device, r, x);
  std::string answer;
  for (float const v : y.as_span<float>()) answer += std::to_string(static_cast<int>(v)) + " ";
  co_await asio::async_write(socket, asio::buffer(answer += "\n"), asio::use_awaitable);
}

// The other ranks: start their share of each request and look out for the next.
asio::awaitable<void> follow(hocket::world w, hocket::host_stream& device) {
  hocket::task_group shares(w.get_executor());
  auto share = [](hocket::world at, hocket::host_stream& d, request r) -> asio::awaitable<void> {
    co_await serve(at, d, r, tensor());
  };
  for (;;) {
    auto r = co_await w.group().broadcast_object(std::optional<request>(), root);
    if (r.id == 0) break;
    shares.spawn(share(w, device, r));
  }
  co_await shares.join();
}
// [server]

asio::awaitable<void> accept(hocket::world w, hocket::host_stream& device, tcp::acceptor& door) {
  hocket::task_group sessions(w.get_executor());
  for (std::uint64_t id = 1; id <= clients; ++id) {
    auto socket = co_await door.async_accept(asio::use_awaitable);
    sessions.spawn(session(w, device, std::move(socket), id));
  }
  co_await sessions.join();
  co_await w.group().broadcast_object(std::optional<request>(request()), root);
}

asio::awaitable<void> client(tcp::endpoint server, std::string numbers) {
  tcp::socket socket(co_await asio::this_coro::executor);
  co_await socket.async_connect(server, asio::use_awaitable);
  co_await asio::async_write(socket, asio::buffer(numbers + "\n"), asio::use_awaitable);
  std::string answer;
  co_await asio::async_read_until(socket, asio::dynamic_buffer(answer), '\n', asio::use_awaitable);
  std::printf("%s -> %s", numbers.c_str(), answer.c_str());
}

}  // namespace

int main() {
  asio::io_context ctx(1);
  tcp::acceptor door(ctx, tcp::endpoint(asio::ip::address_v4::loopback(), 0));
  hocket::local_world ranks(ctx.get_executor(), 3);
  ranks.spawn([&door](hocket::world w) -> asio::awaitable<void> {
    hocket::host_stream device;
    if (w.rank().value() == 0) co_await accept(w, device, door);
    if (w.rank().value() != 0) co_await follow(w, device);
  });
  auto rethrow = [](std::exception_ptr e) {
    if (e) std::rethrow_exception(e);
  };
  for (char const* numbers : {"1 2 3 4 5 6 7", "10", "3 1 4 1 5 9 2 6"})
    asio::co_spawn(ctx, client(door.local_endpoint(), numbers), rethrow);
  ctx.run();
  ranks.rethrow();
}
