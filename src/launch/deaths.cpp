// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <charconv>
#include <hocket/launch/deaths.hpp>
#include <hocket/log.hpp>
#include <utility>

namespace hocket {
namespace {

// "3 was ended by signal 9"
void tell(death_watch::callback const& heard, std::string const& text) {
  int rank = -1;
  auto const* const end = text.data() + text.size();
  auto const [stop, code] = std::from_chars(text.data(), end, rank);
  if (code != std::errc() || stop == end || *stop != ' ')
    return log(log_level::warning, "the store tells of a death in an unknown form: " + text);
  heard(rank, std::string_view(stop + 1, end));
}

void listen(std::shared_ptr<store> s, death_watch::callback heard, std::stop_token stop, int n) {
  auto const next = s->get(death_key(n), op_options().no_deadline().stop(stop));
  next.async_wait([s = std::move(s), heard = std::move(heard), stop = std::move(stop), n](
                      boost::system::error_code const& e, std::string const& text) mutable {
    if (e || stop.stop_requested()) return;
    tell(heard, text);
    listen(std::move(s), std::move(heard), std::move(stop), n + 1);
  });
}

}  // namespace

std::string dead_rank_key(int rank) { return fmt::format("hocket/dead/{}", rank); }
std::string death_key(int n) { return fmt::format("hocket/death/{}", n); }

death_watch::death_watch(std::shared_ptr<store> const& s, callback heard) {
  listen(s, std::move(heard), stop_.get_token(), 0);
}

death_watch::~death_watch() { stop_.request_stop(); }

}  // namespace hocket
