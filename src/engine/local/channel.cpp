// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "channel.hpp"

#include <hocket/detail/assert.hpp>
#include <utility>

#include "hub.hpp"
#include "movement.hpp"

namespace hocket::local {

meeting& channel::meeting_at(std::uint64_t id, std::uint64_t sequence) {
  HOCKET_ASSERT(sequence >= base_);
  auto const index = static_cast<std::size_t>(sequence - base_);
  while (slots_.size() <= index) slots_.emplace_back();
  auto& m = slots_[index].m;
  if (!m) m = std::make_unique<meeting>(static_cast<int>(boxes.size()), id, sequence);
  return *m;
}

meeting* channel::find(std::uint64_t sequence) noexcept {
  if (sequence < base_ || sequence - base_ >= slots_.size()) return nullptr;
  return slots_[static_cast<std::size_t>(sequence - base_)].m.get();
}

std::unique_ptr<meeting> channel::end(std::uint64_t sequence) {
  auto& place = slots_[static_cast<std::size_t>(sequence - base_)];
  auto m = std::move(place.m);
  place.over = true;
  while (!slots_.empty() && slots_.front().over) {
    slots_.pop_front();
    ++base_;
  }
  return m;
}

void meeting::run() noexcept {
  auto const hub = std::move(at);
  detail::failure f;
  try {
    transfer(parts);
  } catch (...) {
    f = detail::failure_from(std::current_exception());
  }
  auto const self = hub->retire(*this);
  for (request* r : parts) r->complete(f);
}

}  // namespace hocket::local
