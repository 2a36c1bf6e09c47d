// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "block_reduction.hpp"

#include <algorithm>
#include <exception>
#include <hocket/error.hpp>
#include <utility>

#include "algorithm/reduce.hpp"
#include "algorithm/slices.hpp"

namespace hocket::host {
namespace {

// So many bytes of the result in one turn, so that others get theirs.
constexpr std::size_t result_bytes_a_turn = 1024 * 1024;

}  // namespace

block_reduction::block_reduction(fabric& net, fingerprint const& print, std::vector<double> factors,
                                 std::vector<operand> operands, std::byte* to, std::int64_t count,
                                 arrival& then)
    : net_(net),
      print_(print),
      factors_(std::move(factors)),
      operands_(std::move(operands)),
      to_(to),
      count_(count),
      then_(then),
      from_(operands_.size()) {}

bool block_reduction::is_readable() const {
  return std::ranges::all_of(
      operands_, [this](operand const& o) { return o.here != nullptr || net_.can_read(o.peer); });
}

bool block_reduction::step() noexcept {
  try {
    if (!std::exchange(begun_, true) && !failure_.exception) {
      auto const elsewhere =
          std::ranges::count_if(operands_, [](operand const& o) { return o.here == nullptr; });
      block_ = algorithm::elements_a_block(size_of(print_.dtype), static_cast<int>(elsewhere));
      if (!is_readable()) return fetch_all(), false;
    }
    auto const turn = static_cast<std::int64_t>(result_bytes_a_turn / size_of(print_.dtype));
    for (auto const end = std::min(count_, done_ + turn); done_ < end;) {
      auto const n = std::min(block_, end - done_);
      if (!read_block(n)) return fetch_all(), false;
      std::byte* const to = to_ + static_cast<std::size_t>(done_) * size_of(print_.dtype);
      algorithm::reduce(print_.reduction, print_.dtype, from_, {&to, 1}, n, factors_);
      done_ += n;
    }
  } catch (...) {
    failure_ = detail::failure_from(std::current_exception());
    done_ = count_;
  }
  if (done_ < count_) return true;
  auto const f = std::move(failure_);
  then_.came(f);
  return false;
}

void block_reduction::abort(detail::failure const& why) noexcept {
  if (!failure_.exception) failure_ = why;
  done_ = count_;
  net_.cancel(*this, why);
}

bool block_reduction::read_block(std::int64_t n) {
  auto const skipped = static_cast<std::size_t>(done_) * size_of(print_.dtype);
  auto const bytes = static_cast<std::size_t>(n) * size_of(print_.dtype);
  std::size_t used = 0;
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    operand const& o = operands_[i];
    if (o.here != nullptr) {
      from_[i] = o.here + skipped;
      continue;
    }
    if (used == staged_.size()) staged_.push_back(tensor::empty(print_.dtype, shape{block_}));
    std::byte* const place = staged_[used++].bytes();
    if (!net_.read_now(o.peer, o.address + skipped, o.seal, place, bytes)) return false;
    from_[i] = place;
  }
  return true;
}

// From the beginning, also where some blocks are done: those are not needed again.
void block_reduction::fetch_all() {
  for (auto& o : operands_)
    if (o.here == nullptr) o.fetched = tensor::empty(print_.dtype, shape{count_});
  left_ = 1;
  for (auto const& o : operands_) {
    if (o.here != nullptr) continue;
    wanted w;
    w.peer = o.peer;
    w.exposure = o.exposure;
    w.offset = o.offset;
    w.address = o.address;
    w.seal = o.seal;
    w.to = o.fetched.bytes();
    w.bytes = o.fetched.nbytes();
    w.then = this;
    ++left_;
    net_.fetch(w);
  }
  came({});
}

void block_reduction::came(detail::failure const& f) noexcept {
  if (f.exception && !failure_.exception) failure_ = f;
  if (--left_ > 0) return;
  for (auto& o : operands_)
    if (o.here == nullptr && o.fetched.defined()) o.here = o.fetched.const_bytes();
  if (failure_.exception) done_ = count_;
  net_.take_up(*this);
}

}  // namespace hocket::host
