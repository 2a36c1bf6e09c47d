// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/detail/op_state.hpp>
#include <hocket/tensor/tensor.hpp>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>

#include "pipeline_hop.hpp"

namespace hocket::detail {

class pipeline_core;

/// What is behind the handle of `submit`. A wait that ends early cancels the request.
class request_op final : public value_state<tensor> {
 public:
  request_op(port_ptr home, std::weak_ptr<pipeline_core> core, std::uint64_t id)
      : value_state<tensor>(std::move(home)), core_(std::move(core)), id_(id) {}
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  /// The last word: the result, or why there is none.
  void end_with(std::string const& pipeline, tensor result, ending const& end);

 protected:
  void waits_ended() noexcept override;
  [[nodiscard]] std::string expiry_story() override;

 private:
  std::weak_ptr<pipeline_core> const core_;
  std::uint64_t const id_;
};

using request_ptr = boost::intrusive_ptr<request_op>;

/// The first stage's open requests, in the order of their submission.
class request_book {
 public:
  request_book(std::string pipeline, bool in_order)
      : pipeline_(std::move(pipeline)), in_order_(in_order) {}

  /// False: a request of this id is open.
  [[nodiscard]] bool add(request_ptr op);
  [[nodiscard]] bool contains(std::uint64_t id) const { return places_.contains(id); }
  [[nodiscard]] bool empty() const noexcept { return entries_.empty(); }
  /// Settles its handle, now or when the earlier ones are; an id that is not open: nothing.
  void end(std::uint64_t id, tensor result, ending e);
  /// Every open one ends in this way.
  void end_all(ending const& e);

 private:
  struct entry {
    request_ptr op;
    bool is_over = false;
    tensor result;
    ending end;
  };
  void settle(entry& e) const;

  std::string const pipeline_;
  bool const in_order_;
  std::uint64_t next_ = 0;
  std::map<std::uint64_t, entry> entries_;
  std::unordered_map<std::uint64_t, std::uint64_t> places_;
};

}  // namespace hocket::detail
