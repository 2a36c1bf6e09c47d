// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/error.hpp>
#include <hocket/group/detail/group_core.hpp>
#include <hocket/group/detail/group_op.hpp>
#include <hocket/group/process_group.hpp>
#include <source_location>
#include <utility>

namespace hocket::detail {

/// What every call has in common: which group and channel, with which options, from where.
class calling {
 public:
  calling(group_core& g, channel_core& c, op_options const& o, std::source_location s) noexcept
      : group(g), channel(c), options(o), site(s) {}
  group_core& group;
  channel_core& channel;
  op_options const& options;
  std::source_location site;
};

/// Names the op and gives it its number.
void describe_call(calling const& c, op_base& op, request& r, op_kind kind);
/// Takes leases, arms the deadline, hands the request to the engine.
void submit(calling const& c, op_base& op, request& r);

/// Throws unless `t` is a defined tensor that the engine can read or write.
void check_tensor(tensor const& t, char const* what);
/// Throws if several elements of an output have one address.
void check_output(tensor const& out);
/// Throws unless the engine supports it.
void check_supported(calling const& c, op_kind kind, dtype type, reduction red = reduction::sum);
/// Throws if two tensors share elements, except where `part` is exactly the member's part of
/// `whole`. Without a plan they are an input and an output.
void check_aliasing(tensor const& part, tensor const& whole, split_plan const* plan, int rank);
/// Throws if two tensors share elements, except where they are the same.
void check_in_place(tensor const& in, tensor const& out);
/// A gather or scatter of one member.
[[nodiscard]] work<> copy_when_disabled(char const* operation, tensor const& out, tensor const& in,
                                        std::source_location site);
/// Fills the fields that members compare, from the shape of the whole.
void set_print(request& r, dtype type, shape const& whole);

/// One call from its arguments to its handle: `fill` checks the arguments and completes the
/// request; what it throws makes this rank's part a local failure, which still takes its place.
template <class Op, class Fill>
boost::intrusive_ptr<Op> launch(calling const& c, op_kind kind, Fill fill) {
  boost::intrusive_ptr<Op> op(new Op(c.group.home, c.group.endpoint), false);
  request& r = op->asked;
  describe_call(c, *op, r, kind);
  try {
    fill(r);
    check_output(r.out);
  } catch (...) {
    r.local = failure_from(std::current_exception());
  }
  submit(c, *op, r);
  return op;
}

}  // namespace hocket::detail
