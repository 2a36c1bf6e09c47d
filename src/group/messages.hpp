// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/process_group.hpp>
#include <optional>
#include <utility>

#include "launch.hpp"

namespace hocket::detail {

inline constexpr char const* no_peer = "point-to-point on a disabled group: it has no other rank";

/// The other side of a message, and its tag.
void set_peer(request& r, process_group const& g, source from, op_options const& options);

/// One message on its way.
[[nodiscard]] boost::intrusive_ptr<signal_op> start_send(process_group const& g, calling const& c,
                                                         tensor t, source to);
/// One receive; without `out` the message brings its own dtype and shape.
template <class Op>
boost::intrusive_ptr<Op> start_recv(process_group const& g, calling const& c,
                                    std::optional<tensor> out, source from) {
  return launch<Op>(c, op_kind::recv, [&](request& r) {
    set_peer(r, g, from, c.options);
    r.takes_any_shape = !out;
    if (!out) return;
    check_tensor(*out, "the output");
    set_print(r, out->dtype(), out->shape());
    r.out = *std::move(out);
  });
}

}  // namespace hocket::detail
