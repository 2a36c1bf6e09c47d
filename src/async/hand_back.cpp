// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/async/detail/deliver.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/tensor/tensor.hpp>
#include <utility>

namespace hocket::detail {
namespace {

// A handler like any other: called on its executor or destroyed with it. Either way the storage
// goes.
class last_holder {
 public:
  explicit last_holder(storage_ptr s) noexcept : held_(std::move(s)) {}
  void operator()(boost::system::error_code) noexcept { held_.reset(); }

 private:
  storage_ptr held_;
};

}  // namespace

void hand_back(storage_ptr s, port* home) noexcept {
  if (!s || !s->has_owner()) return;
  auto last = storage::drop_unless_last(std::move(s));
  if (!last || runs_here(home)) return;
  bool const is_gone = home != nullptr && home->closed();
  if (is_gone && !on_progress_thread()) return;
  try {
    op_ptr<void> const now(new signal_state(is_gone ? nullptr : home), false);
    now->finish();
    start<boost::system::error_code, void>(now, last_holder(std::move(last)));
  } catch (...) {  // no memory for it: then here
  }
}

void hand_back(tensor& t, port* home) noexcept {
  auto held = t.defined() && t.storage()->has_owner() ? t.storage() : nullptr;
  t = tensor();
  hand_back(std::move(held), home);
}

void hand_back(std::optional<tensor>& t, port* home) noexcept {
  if (t) hand_back(*t, home);
  t.reset();
}

}  // namespace hocket::detail
