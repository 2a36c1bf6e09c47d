// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/async/detail/join_all.hpp>
#include <hocket/group/batch.hpp>
#include <utility>

#include "launch.hpp"
#include "messages.hpp"

namespace hocket {
namespace {

// All messages of a batch; its result is what was received, in the order of the receives.
class batch_state final : public detail::op_state<std::vector<tensor>> {
 public:
  batch_state(detail::port_ptr home, std::vector<detail::op_ref> all,
              std::vector<boost::intrusive_ptr<detail::tensor_op>> receives)
      : op_state(std::move(home)),
        children_(std::move(all)),
        receives_(std::move(receives)),
        links_(children_.size()) {}
  void start() { join_.start(*this, children_, links_); }
  [[nodiscard]] bool drive() override { return join_.drive(); }

  [[nodiscard]] std::vector<tensor> take() override {
    std::vector<tensor> got;
    got.reserve(receives_.size());
    for (auto const& r : receives_) got.push_back(r->take());
    return got;
  }

 protected:
  void drop_value() noexcept override {
    receives_.clear();
    children_.clear();
  }

 private:
  std::vector<detail::op_ref> children_;
  std::vector<boost::intrusive_ptr<detail::tensor_op>> receives_;
  std::vector<detail::join_all::link> links_;
  detail::join_all join_;
};

}  // namespace

work<std::vector<tensor>> process_group::run(batch b, std::source_location site) const {
  if (b.entries_.empty()) return make_ready_work<std::vector<tensor>>(nullptr, {});
  if (is_disabled())
    return detail::failed_work<std::vector<tensor>>(errc::invalid_argument, "batch",
                                                    detail::no_peer, site);
  std::vector<detail::op_ref> all;
  std::vector<boost::intrusive_ptr<detail::tensor_op>> receives;
  for (auto& e : b.entries_) {
    detail::calling const c(*group_, *channel_, e.options, e.site);
    if (e.sends) {
      all.emplace_back(detail::start_send(*this, c, *std::move(e.buffer), e.peer));
    } else {
      receives.push_back(
          detail::start_recv<detail::tensor_op>(*this, c, std::move(e.buffer), e.peer));
      all.emplace_back(receives.back());
    }
  }
  boost::intrusive_ptr<batch_state> const whole(
      new batch_state(group_->home, std::move(all), std::move(receives)), false);
  whole->mutable_info().operation = "batch";
  whole->mutable_info().site = site;
  whole->start();
  return work<std::vector<tensor>>(whole);
}

}  // namespace hocket
