// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "pipeline_request.hpp"

#include <fmt/format.h>

#include <boost/system/system_error.hpp>
#include <hocket/error.hpp>
#include <utility>

#include "pipeline_core.hpp"

namespace hocket::detail {

ending ending::of(std::exception_ptr const& e) {
  auto const other = static_cast<std::int32_t>(errc::peer_failed);
  try {
    std::rethrow_exception(e);
  } catch (boost::system::system_error const& s) {
    if (s.code() == operation_aborted()) return ending(aborted, s.what());
    bool const ours = s.code().category() == hocket_category();
    return ending(ours ? s.code().value() : other, s.what());
  } catch (std::exception const& s) {
    return ending(other, s.what());
  } catch (...) {
    return ending(other, "an exception that is not a std::exception");
  }
}

void request_op::end_with(std::string const& pipeline, tensor result, ending const& end) {
  if (!end.is_early()) {
    store(std::move(result));
    return finish();
  }
  auto const code = end.code == ending::aborted ? operation_aborted()
                                                : make_error_code(static_cast<errc>(end.code));
  finish(
      make_failure(code, fmt::format("{}: request {} of {}, submitted at {}: {}", info().operation,
                                     id_, pipeline, to_string(info().site), end.story)));
}

void request_op::waits_ended() noexcept {
  if (auto const core = core_.lock()) core->cancel_later(id_);
}

std::string request_op::expiry_story() {
  return fmt::format("request {} had no result when its deadline passed", id_);
}

bool request_book::add(request_ptr op) {
  auto const id = op->id();
  if (!places_.try_emplace(id, next_).second) return false;
  entries_[next_++].op = std::move(op);
  return true;
}

void request_book::settle(entry& e) const { e.op->end_with(pipeline_, std::move(e.result), e.end); }

void request_book::end(std::uint64_t id, tensor result, ending e) {
  auto const place = places_.find(id);
  if (place == places_.end()) return;
  auto const at = entries_.find(place->second);
  places_.erase(place);
  at->second.is_over = true;
  at->second.result = std::move(result);
  at->second.end = std::move(e);
  if (!in_order_) {
    settle(at->second);
    entries_.erase(at);
    return;
  }
  while (!entries_.empty() && entries_.begin()->second.is_over) {
    settle(entries_.begin()->second);
    entries_.erase(entries_.begin());
  }
}

void request_book::end_all(ending const& e) {
  places_.clear();
  for (auto& [order, one] : std::exchange(entries_, {})) {
    if (!one.is_over) one.end = e;
    settle(one);
  }
}

}  // namespace hocket::detail
