// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/group/detail/group_core.hpp>
#include <hocket/group/detail/object_type.hpp>
#include <hocket/group/request.hpp>

namespace hocket {

void request::first_sign(runtime_handle const& rt) noexcept {
  if (!awaits_arrival() || limit_from_arrival) return;
  if (!rt.advance(*op, arrival_limit)) return;
  limit = arrival_limit;
  limit_from_arrival = true;
}

void request::complete(detail::failure f) noexcept {
  detail::op_ref const last(op, false);
  if (of) of->under_way.leave(in_window);
  writes.release();
  reads.release();
  for (auto& l : attachment_reads) detail::hand_back(l.end(), last->home());
  attachment_reads.clear();
  ready = event();
  detail::hand_back(in, last->home());  // the caller's handle keeps the result only
  last->finish(std::move(f));
}

std::string describe(request const& r) {
  std::string what;
  if (r.type == nullptr && (r.in.defined() || r.out.defined())) {
    what = " " + brief(r.in.defined() ? r.in : r.out);
  } else if (r.is_remote() && r.remote->has_tensor) {
    what = fmt::format(" {}{}", name_of(r.remote->dtype), to_string(r.remote->shape));
  }
  if (r.type != nullptr) what += " of " + r.type->name;
  if (is_reducing(r.print.kind)) what += fmt::format(" {}", name_of(r.print.reduction));
  if (is_reducing(r.print.kind) && r.print.reduction == reduction::premultiplied_sum)
    what += fmt::format(" by {}", r.factor);
  if (r.print.root >= 0) what += fmt::format(" root {}", r.print.root);
  if (r.plan) what += fmt::format(" ({})", to_string(*r.plan));
  return fmt::format("rank {} {}{} ({})", r.rank, name_of(r.print.kind), what,
                     r.is_remote() ? r.remote->site : to_string(r.op->info().site));
}

}  // namespace hocket
