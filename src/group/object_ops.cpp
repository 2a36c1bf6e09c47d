// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/group/detail/object_op.hpp>
#include <utility>

#include "launch.hpp"
#include "messages.hpp"

namespace hocket::detail {

port_ptr home_of(process_group const& g) { return g.core()->home; }
std::shared_ptr<endpoint> endpoint_of(process_group const& g) { return g.core()->endpoint; }

object_limits const& limits_of(request const& r) { return r.of->objects; }
object_limits const& limits_of(process_group const& g) { return g.channel_state().objects; }

void tell_unreadable(request const& r, int giver, error const& e) {
  throw error(e.code(), fmt::format("{}: the object of rank {} cannot be read: {}",
                                    to_string(r.op->info()), giver, e.what()));
}

namespace {

void check_parcel(parcel const& p) {
  for (auto const& t : p.tensors) check_tensor(t, "a tensor of the object");
}

void give_one(request& r, encoded e) {
  if (!e.one) throw error(errc::invalid_argument, "the root of an object broadcast gave no value");
  check_parcel(*e.one);
  r.in = std::move(e.one->bytes);
  r.attachments = std::move(e.one->tensors);
}

void give_each(request& r, encoded e, int n) {
  if (std::cmp_not_equal(e.each.size(), n))
    throw error(
        errc::invalid_argument,
        fmt::format("{} values for {} ranks: the root gives one to each", e.each.size(), n));
  for (auto const& p : e.each) check_parcel(p);
  r.parcels = std::move(e.each);
}

}  // namespace

bool gives_objects(process_group const& g, op_kind kind, source peer) {
  if (is_send(kind) || kind == op_kind::gather_objects) return true;
  return !is_recv(kind) && g.place_of(peer.from()) == g.rank();
}

void begin_objects(process_group const& g, op_ref op, request& asked, op_kind kind, source peer,
                   encoded e, object_type const* type, op_options const& options,
                   std::source_location site) {
  calling const c(*g.core(), g.channel_state(), options, site);
  describe_call(c, *op, asked, kind);
  asked.takes_any_shape = true;
  asked.type = type;
  if (type != nullptr) asked.print.type_hash = type->hash;
  try {
    if (is_send(kind) || is_recv(kind)) {
      set_peer(asked, g, peer, options);
    } else {
      asked.print.root = g.place_of(peer.from()).value();
    }
    if (e.failed.exception) std::rethrow_exception(e.failed.exception);
    bool const gives = gives_objects(g, kind, peer);
    if (gives && kind == op_kind::scatter_objects) {
      give_each(asked, std::move(e), g.size());
    } else if (gives) {
      give_one(asked, std::move(e));
    }
  } catch (...) {
    asked.local = failure_from(std::current_exception());
  }
  submit(c, *op, asked);
}

}  // namespace hocket::detail
