// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "launch/store_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <utility>

namespace hocket::rdzv {
namespace {

constexpr std::size_t entry_bytes = 64;  // of bookkeeping, so that many empty values count, too

}  // namespace

void store_table::account(std::size_t less, std::size_t more) {
  if (bytes_ - less + more > bytes_max_)
    throw error(errc::too_large, fmt::format("the store holds {} bytes and may hold {}: no room "
                                             "for {} more",
                                             bytes_, bytes_max_, more));
  bytes_ = bytes_ - less + more;
}

void store_table::set(std::string const& key, std::string value) {
  auto const found = values_.find(key);
  if (found != values_.end()) {
    account(found->second.size(), value.size());
    found->second = std::move(value);
    return;
  }
  account(0, key.size() + value.size() + entry_bytes);
  values_.emplace(key, std::move(value));
  came(key);
}

void store_table::append(std::string const& key, std::string const& value) {
  auto const found = values_.find(key);
  if (found == values_.end()) return set(key, value);
  account(0, value.size());
  found->second += value;
}

std::string const* store_table::find(std::string const& key) const {
  auto const found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

bool store_table::has_all(std::vector<std::string> const& keys) const {
  return std::ranges::all_of(keys, [this](auto const& key) { return values_.contains(key); });
}

std::int64_t store_table::add(std::string const& key, std::int64_t amount) {
  std::int64_t now = 0;
  if (auto const* const text = find(key)) {
    auto const* const end = text->data() + text->size();
    auto const [stop, code] = std::from_chars(text->data(), end, now);
    if (code != std::errc() || stop != end)
      throw error(errc::corrupt, fmt::format("add to \"{}\", whose value is no number", key));
  }
  std::int64_t sum = 0;
  if (__builtin_add_overflow(now, amount, &sum))
    throw error(errc::corrupt, fmt::format("add of {} to \"{}\", which is {}: the sum has more "
                                           "than 64 bits",
                                           amount, key, now));
  set(key, std::to_string(sum));
  return sum;
}

std::string store_table::compare_set(std::string const& key, std::string const& expected,
                                     std::string const& desired) {
  auto const* const now = find(key);
  if (now == nullptr ? !expected.empty() : *now != expected) return now ? *now : expected;
  set(key, desired);
  return desired;
}

bool store_table::erase(std::string const& key) {
  auto const found = values_.find(key);
  if (found == values_.end()) return false;
  bytes_ -= found->first.size() + found->second.size() + entry_bytes;
  values_.erase(found);
  return true;
}

void store_table::park(key_waiter& w, std::vector<std::string> const& keys) {
  HOCKET_ASSERT(!w.is_parked_);
  for (auto const& key : keys) {
    if (values_.contains(key)) continue;
    waiting_[key].push_back(&w);
    w.keys_.push_back(key);
  }
  w.missing_ = w.keys_.size();
  HOCKET_ASSERT(w.missing_ > 0);
  w.is_parked_ = true;
}

void store_table::withdraw(key_waiter& w) noexcept {
  if (std::exchange(w.is_due_, false)) std::erase(due_, &w);
  if (!std::exchange(w.is_parked_, false)) return;
  for (auto const& key : w.keys_) {
    auto const found = waiting_.find(key);
    if (found == waiting_.end()) continue;
    std::erase(found->second, &w);
    if (found->second.empty()) waiting_.erase(found);
  }
  w.keys_.clear();
}

void store_table::came(std::string const& key) {
  auto const found = waiting_.find(key);
  if (found == waiting_.end()) return;
  auto const all = std::move(found->second);
  waiting_.erase(found);
  for (auto* const w : all) {
    if (--w->missing_ != 0) continue;
    w->is_parked_ = false;
    w->is_due_ = true;
    w->keys_.clear();
    due_.push_back(w);
  }
}

void store_table::settle() noexcept {
  while (!due_.empty()) {
    auto* const w = due_.front();
    due_.pop_front();
    w->is_due_ = false;
    w->keys_came();
  }
}

}  // namespace hocket::rdzv
