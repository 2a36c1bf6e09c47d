// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/object.hpp>
#include <hocket/group/process_group.hpp>
#include <utility>

namespace hocket {
namespace detail {

/// A broadcast object: each waiter decodes a T of its own from the bytes that came.
template <class T>
class object_op final : public group_op<T> {
 public:
  using group_op<T>::group_op;
  [[nodiscard]] T take() override {
    parcel p;
    p.bytes = this->asked.out;
    p.tensors = this->asked.attachments;
    return decode_object<T>(p);
  }
};

/// The part of a broadcast that does not depend on T. An empty `p` on the root fails the call.
void begin_broadcast_object(process_group const& g, op_ref op,
                            request& asked, parcel p, failure encoding, member root,
                            op_options const& options, std::source_location site);

[[nodiscard]] port_ptr home_of(process_group const& g);
[[nodiscard]] std::shared_ptr<endpoint> endpoint_of(process_group const& g);

}  // namespace detail

template <class T>
work<T> process_group::broadcast_object(std::optional<T> value, member root,
                                        op_options const& options,
                                        std::source_location site) const {
  if (is_disabled()) {
    if (value) return make_ready_work<T>(nullptr, *std::move(value));
    return detail::failed_work<T>(
        errc::invalid_argument, "broadcast_object on a disabled group: there is no value to give",
        site);
  }
  boost::intrusive_ptr<detail::object_op<T>> op(
      new detail::object_op<T>(detail::home_of(*this), detail::endpoint_of(*this)), false);
  parcel p;
  detail::failure encoding;
  try {
    if (value && place_of(root) == rank()) p = encode_object(*value);
  } catch (...) {
    encoding = detail::failure_from(std::current_exception());
  }
  work<T> handle{detail::op_ptr<T>(op)};
  detail::begin_broadcast_object(*this, detail::op_ref(op), op->asked, std::move(p),
                                 std::move(encoding), root, options, site);
  return handle;
}

}  // namespace hocket
