// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "roster.hpp"

#include <fmt/format.h>

#include <utility>

namespace hocket::matching {

using detail::failure;
using detail::make_failure;

std::string what_of(std::exception_ptr const& e) {
  try {
    std::rethrow_exception(e);
  } catch (std::exception const& x) {
    return x.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

roster::roster(group_spec const& spec)
    : members_(spec.members),
      label_(spec.name + (spec.epoch != 0 ? fmt::format("@{}", spec.epoch) : "") +
             to_string(spec.members)),
      gone_(static_cast<std::size_t>(spec.members.size())) {}

bool roster::leave(int rank, departure why) {
  auto& place = gone_[static_cast<std::size_t>(rank)];
  if (place) return false;
  place = std::move(why);
  ++gone_count_;
  return true;
}

std::string roster::name_rank(int rank) const {
  int const in_world = members_[group_rank(rank)].value();
  if (in_world == rank) return fmt::format("rank {}", rank);
  return fmt::format("rank {} (world rank {})", rank, in_world);
}

std::string roster::place(request const& r) const {
  if (r.channel == 0) return fmt::format("{} #{}", label_, r.sequence);
  return fmt::format("{} ch {} #{}", label_, r.channel, r.sequence);
}

failure roster::failed_peer(request const& r) const {
  return make_failure(make_error_code(errc::peer_failed),
                      fmt::format("{}: {} could not take part: {}", place(r), name_rank(r.rank),
                                  what_of(r.local.exception)));
}

attendance::attendance(roster const& all, std::uint64_t channel)
    : all_(&all), channel_(channel), closed_(static_cast<std::size_t>(all.size())) {}

void attendance::close(int rank) {
  closed_[static_cast<std::size_t>(rank)] = true;
  ++closed_count_;
}

bool attendance::everyone_gone() const noexcept {
  for (int r = 0; r < size(); ++r)
    if (!is_gone(r)) return false;
  return true;
}

bool attendance::is_deserted(int rank) const noexcept {
  for (int r = 0; r < size(); ++r)
    if ((r != rank || size() == 1) && !is_gone(r)) return false;
  return true;
}

failure attendance::absent(int rank, request const& r) const {
  departure why;
  if (auto const& left = all_->departure_of(rank)) {
    why = *left;
  } else {
    why.reason = fmt::format("it closed channel {}", channel_);
  }
  return make_failure(make_error_code(why.code),
                      fmt::format("{}: {} cannot complete: {} is gone: {}", all_->place(r),
                                  describe(r), all_->name_rank(rank), why.reason));
}

}  // namespace hocket::matching
