// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/group/detail/object_op.hpp>

#include "launch.hpp"

namespace hocket {
namespace {

using detail::calling;
using detail::check_tensor;
using detail::launch;

constexpr char const* no_peer = "point-to-point on a disabled group: it has no other rank";

void set_peer(request& r, process_group const& g, source from, op_options const& options) {
  r.tag = options.tag();
  r.peer = from.is_any() ? request::any_peer : g.place_of(from.from()).value();
}

}  // namespace

work<> process_group::send(tensor t, member to, op_options const& options,
                           std::source_location site) const {
  if (is_disabled()) return detail::failed_work<void>(errc::invalid_argument, no_peer, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(launch<detail::signal_op>(c, op_kind::send, [&](request& r) {
    set_peer(r, *this, source(to), options);
    check_tensor(t, "the tensor");
    detail::set_print(r, t.dtype(), t.shape());
    r.in = std::move(t);
  }));
}

work<> process_group::recv(tensor out, source from, op_options const& options,
                           std::source_location site) const {
  if (is_disabled()) return detail::failed_work<void>(errc::invalid_argument, no_peer, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(launch<detail::signal_op>(c, op_kind::recv, [&](request& r) {
    set_peer(r, *this, from, options);
    check_tensor(out, "the output");
    detail::set_print(r, out.dtype(), out.shape());
    r.out = std::move(out);
  }));
}

work<tensor> process_group::recv(source from, op_options const& options,
                                 std::source_location site) const {
  if (is_disabled()) return detail::failed_work<tensor>(errc::invalid_argument, no_peer, site);
  calling const c(*group_, *channel_, options, site);
  return work<tensor>(launch<detail::tensor_op>(c, op_kind::recv, [&](request& r) {
    set_peer(r, *this, from, options);
    r.takes_any_shape = true;
  }));
}

namespace detail {

port_ptr home_of(process_group const& g) { return g.core()->home; }
std::shared_ptr<endpoint> endpoint_of(process_group const& g) { return g.core()->endpoint; }

void begin_broadcast_object(process_group const& g, op_ref op, request& asked, parcel p,
                            failure encoding, member root, op_options const& options,
                            std::source_location site) {
  calling const c(*g.core(), g.channel_state(), options, site);
  describe_call(c, *op, asked, op_kind::broadcast_object);
  asked.takes_any_shape = true;
  try {
    asked.print.root = g.place_of(root).value();
    if (encoding.exception) std::rethrow_exception(encoding.exception);
    if (asked.rank == asked.print.root) {
      if (!p.bytes.defined())
        throw error(errc::invalid_argument, "the root of an object broadcast gave no value");
      for (auto const& t : p.tensors) check_tensor(t, "a tensor of the object");
      asked.in = std::move(p.bytes);
      asked.attachments = std::move(p.tensors);
    }
  } catch (...) {
    asked.local = failure_from(std::current_exception());
  }
  submit(c, *op, asked);
}

}  // namespace detail

}  // namespace hocket
