// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <deque>
#include <exception>
#include <hocket/async/promise.hpp>
#include <hocket/error.hpp>
#include <hocket/parallel/model_states.hpp>
#include <hocket/tensor/copy.hpp>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "bucket.hpp"
#include "parallel_core.hpp"

namespace hocket {
namespace {

namespace asio = boost::asio;

// A channel for each call: its steps keep their order, whatever else the group does meanwhile.
constexpr std::uint64_t first_channel = 0x73746174'00000000u;  // "stat"

std::vector<std::string> lines_of(model_states const& states) {
  std::vector<std::string> lines;
  for (auto const& [name, s] : states.parameters())
    lines.push_back(fmt::format("parameter {} {}", name, brief(s.local())));
  for (auto const& [name, s] : states.buffers())
    lines.push_back(fmt::format("buffer {} {}", name, brief(s.local())));
  return lines;
}

std::int64_t hash_of(std::vector<std::string> const& lines) {
  std::uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
  for (auto const& line : lines)
    for (char const c : line + '\n') h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return static_cast<std::int64_t>(h);
}

// One call on one rank.
class handing_out {
 public:
  model_states states;
  process_group group;    ///< the replicas
  process_group channel;  ///< this call's
  op_options options;
  std::source_location site;
  work<> begun;
  std::optional<work<>> reading;  ///< first, on the first rank
  std::exception_ptr unable;
};

std::string line_or_none(std::vector<std::string> const& lines, std::size_t i) {
  return i < lines.size() ? "\"" + lines[i] + "\"" : "no more states";
}

// Both lists at every rank, so that all name the same state.
asio::awaitable<void> name_difference(handing_out& h, std::vector<std::string> lines, int other) {
  std::optional<std::vector<std::string>> mine(std::move(lines));
  auto first = co_await h.channel.broadcast_object(mine, group_rank(0), h.options, h.site);
  auto theirs = co_await h.channel.broadcast_object(mine, group_rank(other), h.options, h.site);
  auto const differ = std::mismatch(first.begin(), first.end(), theirs.begin(), theirs.end());
  auto const i = static_cast<std::size_t>(differ.first - first.begin());
  throw error(errc::mismatch,
              fmt::format("{}: model states differ at number {}: world rank {} has {}, world rank "
                          "{} has {}",
                          h.group.label(), i, h.group.members()[group_rank(0)].value(),
                          line_or_none(first, i), h.group.members()[group_rank(other)].value(),
                          line_or_none(theirs, i)));
}

asio::awaitable<void> agree(handing_out& h) {
  auto lines = lines_of(h.states);
  std::int64_t const row[] = {h.unable ? 1 : 0, hash_of(lines)};
  int const n = h.group.size();
  auto const in = tensor::from(std::span<std::int64_t const>(row), shape(2));
  auto all = tensor::empty(dtype::i64, shape(2 * n));
  co_await h.channel.all_gather(all, in, h.options, h.site);
  if (h.unable) std::rethrow_exception(h.unable);
  auto const rows = all.as_span<std::int64_t>();
  for (int r = 0; r < n; ++r)
    if (rows[static_cast<std::size_t>(2 * r)] != 0)
      throw error(errc::peer_failed,
                  fmt::format("{}: world rank {} could not take part: its own call has failed",
                              h.group.label(), h.group.members()[group_rank(r)].value()));
  for (int r = 1; r < n; ++r)
    if (rows[static_cast<std::size_t>(2 * r + 1)] != rows[1])
      co_await name_difference(h, std::move(lines), r);
}

asio::awaitable<void> hand_out(handing_out& h) {
  auto buckets = detail::buckets_of(h.states, broadcast_bucket_max);
  bool const gives = h.group.rank().value() == 0;
  std::deque<std::pair<work<>, detail::bucket*>> flying;
  for (auto b = buckets.begin(); b != buckets.end() || !flying.empty();) {
    if (b != buckets.end() && flying.size() < 2) {
      auto const packed = b->pack(gives);
      flying.emplace_back(h.channel.broadcast(packed, group_rank(0), h.options, h.site), &*b);
      ++b;
      continue;
    }
    auto done = std::move(flying.front().first);
    auto* const of = flying.front().second;
    flying.pop_front();
    co_await std::move(done);
    if (!gives) of->unpack();
  }
}

asio::awaitable<void> carry_out(std::shared_ptr<handing_out> call) {
  auto& h = *call;
  if (h.reading) {
    auto read = *std::move(h.reading);
    try {
      co_await std::move(read);
    } catch (...) {
      h.unable = std::current_exception();
    }
  }
  co_await std::move(h.begun);
  co_await agree(h);
  co_await hand_out(h);
}

work<> start(model_states states, device_mesh const& mesh, op_options const& options,
             std::source_location site, std::function<work<>()> const& read) {
  auto const group = mesh.get_group("replicate");
  bool const first = group.rank().value() == 0;
  if (group.is_disabled()) return read ? read() : make_ready_work();
  auto h = std::make_shared<handing_out>();
  h->states = std::move(states);
  h->group = group;
  h->options = options;
  h->site = site;
  h->begun = group.barrier(options, site);  // takes its place in the order of the calls
  h->channel = group.channel(first_channel + h->begun.info().sequence);
  if (read && first) h->reading = read();
  auto const executor = group.get_executor();
  auto const outcome = std::make_shared<promise<>>(executor, site);
  auto result = outcome->get_work();
  asio::co_spawn(executor, carry_out(h), [outcome, h](std::exception_ptr e) {
    h->channel.close_channel();
    if (e) return outcome->fail(e);
    outcome->set();
  });
  return result;
}

}  // namespace

model_states& model_states::add(table& to, std::string name, state_tensor value) {
  if (parameters_.contains(name) || buffers_.contains(name))
    throw error(errc::invalid_argument, fmt::format("two states are called \"{}\"", name));
  to.emplace(std::move(name), std::move(value));
  return *this;
}

model_states& model_states::parameter(std::string name, state_tensor value) {
  return add(parameters_, std::move(name), std::move(value));
}
model_states& model_states::buffer(std::string name, state_tensor value) {
  return add(buffers_, std::move(name), std::move(value));
}

work<> broadcast_dtensor_model_states(model_states states, device_mesh const& mesh,
                                      op_options const& options, std::source_location site) {
  try {
    return start(std::move(states), mesh, options, site, nullptr);
  } catch (error const& e) {
    return detail::refused<void>(e, "broadcast_dtensor_model_states", site);
  }
}

work<> load_model_states(model_states states, std::filesystem::path path, device_mesh const& mesh,
                         host_stream& reader, op_options const& options,
                         std::source_location site) {
  try {
    auto const read = [&] { return load_model_states(states, std::move(path), reader, site); };
    return start(states, mesh, options, site, read);
  } catch (error const& e) {
    return detail::refused<void>(e, "load_model_states", site);
  }
}

}  // namespace hocket
