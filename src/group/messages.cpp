// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "messages.hpp"

namespace hocket {

namespace detail {

void set_peer(request& r, process_group const& g, source from, op_options const& options) {
  r.tag = options.tag();
  r.peer = from.is_any() ? request::any_peer : g.place_of(from.from()).value();
}

boost::intrusive_ptr<signal_op> start_send(process_group const& g, calling const& c, tensor t,
                                           source to) {
  return launch<signal_op>(c, op_kind::send, [&](request& r) {
    set_peer(r, g, to, c.options);
    check_tensor(t, "the tensor");
    set_print(r, t.dtype(), t.shape());
    r.in = std::move(t);
  });
}

}  // namespace detail

using detail::calling;
using detail::no_peer;

work<> process_group::send(tensor t, member to, op_options const& options,
                           std::source_location site) const {
  if (is_disabled())
    return detail::failed_work<void>(errc::invalid_argument, "send", no_peer, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(detail::start_send(*this, c, std::move(t), source(to)));
}

work<> process_group::recv(tensor out, source from, op_options const& options,
                           std::source_location site) const {
  if (is_disabled())
    return detail::failed_work<void>(errc::invalid_argument, "recv", no_peer, site);
  calling const c(*group_, *channel_, options, site);
  return work<>(detail::start_recv<detail::signal_op>(*this, c, std::move(out), from));
}

work<tensor> process_group::recv(source from, op_options const& options,
                                 std::source_location site) const {
  if (is_disabled())
    return detail::failed_work<tensor>(errc::invalid_argument, "recv", no_peer, site);
  calling const c(*group_, *channel_, options, site);
  return work<tensor>(detail::start_recv<detail::tensor_op>(*this, c, std::nullopt, from));
}

}  // namespace hocket
