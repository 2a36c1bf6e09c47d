// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "decisions.hpp"

#include <hocket/error.hpp>

#include "hub.hpp"

namespace hocket::matching {

detail::failure own_copy(detail::failure f) {
  if (!f.exception) return f;
  try {
    std::rethrow_exception(f.exception);
  } catch (error const& e) {
    return detail::make_failure(e.code(), e.what());
  } catch (...) {
    return f;  // a foreign exception stays what it is
  }
}

void decisions::end(request& r, detail::failure why) {
  HOCKET_ASSERT(!r.decided);
  r.decided = true;
  ended_.emplace_back(&r, own_copy(std::move(why)));
}

void decisions::carry_out(carrier& by) noexcept {
  for (auto& [r, why] : ended_) by.end(at_, *r, std::move(why));
  if (met_ != nullptr) by.carry(at_, *met_);
  if (send_ != nullptr) by.carry(at_, *send_, *recv_);
}

}  // namespace hocket::matching
