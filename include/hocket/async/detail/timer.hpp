// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/intrusive/set_hook.hpp>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <hocket/async/clock.hpp>

namespace hocket::detail {

class timer_queue;
void intrusive_ptr_add_ref(timer_queue* q) noexcept;
void intrusive_ptr_release(timer_queue* q) noexcept;

/// The place of an op in its runtime's queue of deadlines.
struct timer : boost::intrusive::set_base_hook<boost::intrusive::optimize_size<true>> {
  clock::time_point when{};
  boost::intrusive_ptr<timer_queue> queue;  // null: no deadline; set before the op is shared

  friend bool operator<(timer const& a, timer const& b) noexcept { return a.when < b.when; }
};

}  // namespace hocket::detail
