// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "meet.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>
#include <string>
#include <utility>

namespace hocket {
namespace {

std::string key_of(int rank) { return "at/" + std::to_string(rank); }

// "size place"
host::peer_place place_of(std::string const& text, int rank, launch_options const& options) {
  auto const gap = text.find(' ');
  auto const size = text.substr(0, gap);
  if (gap == std::string::npos) throw error(errc::corrupt, "no place of a rank: \"" + text + "\"");
  if (size != std::to_string(options.size()))
    throw error(errc::mismatch,
                fmt::format("job \"{}\": rank {} has come as one of {} ranks, rank {} as one of {}",
                            options.job(), rank, size, options.rank(), options.size()));
  return host::decode_place(text.substr(gap + 1));
}

boost::asio::awaitable<void> be_the_only_one(std::shared_ptr<store> at,
                                             launch_options const& options, time_left limit) {
  auto counted = at->add(fmt::format("rank/{}", options.rank()), 1, limit.options());
  auto const count = co_await std::move(counted);
  if (count == 1) co_return;
  throw error(errc::mismatch, fmt::format("{} processes of job \"{}\" say that they are rank {}",
                                          count, options.job(), options.rank()));
}

// Done when all have learned where the others are.
boost::asio::awaitable<void> outstay(std::shared_ptr<store> at, launch_options const& options,
                                     bool is_host, time_left limit) {
  auto counted = at->add("met", 1, limit.options());
  auto const count = co_await std::move(counted);
  if (count == options.size()) {
    auto told = at->set("all met", "1", limit.options());
    co_await std::move(told);
  } else if (is_host) {
    auto others = at->get("all met", limit.options());
    co_await std::move(others);
  }
}

}  // namespace

boost::asio::awaitable<std::vector<host::peer_place>> meet(std::shared_ptr<store> at,
                                                           launch_options const& options,
                                                           host::peer_place here, bool is_host,
                                                           time_left limit) {
  auto alone = be_the_only_one(at, options, limit);
  co_await std::move(alone);
  auto const mine = fmt::format("{} {}", options.size(), host::encode(here));
  auto told = at->set(key_of(options.rank()), mine, limit.options());
  co_await std::move(told);

  std::vector<work<std::string>> asked;
  for (int r = 0; r < options.size(); ++r) asked.push_back(at->get(key_of(r), limit.options()));
  std::vector<host::peer_place> where;
  std::string missing, why;
  boost::system::error_code code;
  for (int r = 0; r < options.size(); ++r) {
    auto one = std::move(asked[static_cast<std::size_t>(r)]);
    std::string text;
    try {
      text = co_await std::move(one);
    } catch (error const& e) {
      missing += fmt::format("{}{}", missing.empty() ? "" : ", ", r);
      if (why.empty()) why = e.code() == errc::timed_out ? "the deadline passed" : e.what();
      if (!code) code = e.code();
      continue;
    }
    where.push_back(place_of(text, r, options));
  }
  if (!missing.empty())
    throw error(code, fmt::format("rank {} of job \"{}\": {}; of {} ranks these have not joined "
                                  "group world: {} (they have not said at the store, {}, where "
                                  "they are)",
                                  options.rank(), options.job(), why, options.size(), missing,
                                  at->address()));
  auto left = outstay(at, options, is_host, limit);
  co_await std::move(left);
  co_return where;
}

}  // namespace hocket
