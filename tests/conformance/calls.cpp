// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "calls.hpp"

#include <hocket/tensor/split_plan.hpp>
#include <optional>

namespace hocket::conformance {
namespace {

using G = process_group const&;
using O = op_options const&;

constexpr group_rank root(0);

tensor part() { return tensor::full(dtype::f32, {2, 3}, 1); }
tensor whole(G g) { return tensor::full(dtype::f32, {2 * g.size(), 3}, 1); }
split_plan rows(G g) { return make_split_plan(layout::strict, 2 * g.size(), g.size(), 0); }
std::vector<int> values(G g) { return std::vector<int>(static_cast<std::size_t>(g.size()), 5); }
group_rank next(G g) { return group_rank((g.rank().value() + 1) % g.size()); }
group_rank before(G g) { return group_rank((g.rank().value() + g.size() - 1) % g.size()); }

std::vector<call_kind> moving_calls() {
  return {
      {"barrier", "barrier()", [](G g, O o) -> called { return g.barrier(o); }},
      {"monitored_barrier", "monitored_barrier()",
       [](G g, O o) -> called { return g.monitored_barrier(o); }},
      {"broadcast", "broadcast(t)",
       [](G g, O o) -> called { return g.broadcast(part(), root, o); }},
      {"broadcast", "broadcast(optional)",
       [](G g, O o) -> called { return g.broadcast(std::optional<tensor>(part()), root, o); }},
      {"all_gather", "all_gather(out, in)",
       [](G g, O o) -> called { return g.all_gather(whole(g), part(), o); }},
      {"all_gather", "all_gather_v(out, in, plan)",
       [](G g, O o) -> called { return g.all_gather_v(whole(g), part(), rows(g), o); }},
      {"gather", "gather(out, in)",
       [](G g, O o) -> called { return g.gather(whole(g), part(), root, o); }},
      {"gather", "gather_v(out, in, plan)",
       [](G g, O o) -> called { return g.gather_v(whole(g), part(), rows(g), root, o); }},
      {"scatter", "scatter(out, in)",
       [](G g, O o) -> called { return g.scatter(part(), whole(g), root, o); }},
      {"scatter", "scatter_v(out, in, plan)",
       [](G g, O o) -> called { return g.scatter_v(part(), whole(g), rows(g), root, o); }},
      {"scatter", "scatter(optional)",
       [](G g, O o) -> called {
         return g.scatter(std::optional<tensor>(whole(g)), 0, layout::balanced, root, o);
       }},
      {"all_to_all", "all_to_all(out, in)",
       [](G g, O o) -> called { return g.all_to_all(whole(g), whole(g), o); }},
      {"all_to_all", "all_to_all_v(out, plan, in, plan)",
       [](G g, O o) -> called { return g.all_to_all_v(whole(g), rows(g), whole(g), rows(g), o); }},
  };
}

std::vector<call_kind> reducing_calls() {
  return {
      {"reduce", "reduce(out, in)",
       [](G g, O o) -> called { return g.reduce(part(), part(), reduction::sum, root, o); }},
      {"all_reduce", "all_reduce(t)",
       [](G g, O o) -> called { return g.all_reduce(part(), reduction::sum, o); }},
      {"all_reduce", "all_reduce(out, in)",
       [](G g, O o) -> called { return g.all_reduce(part(), part(), reduction::max, o); }},
      {"reduce_scatter", "reduce_scatter(out, in)",
       [](G g, O o) -> called { return g.reduce_scatter(part(), whole(g), reduction::sum, o); }},
      {"reduce_scatter", "reduce_scatter_v(out, in, plan)",
       [](G g, O o) -> called {
         return g.reduce_scatter_v(part(), whole(g), rows(g), reduction::sum, o);
       }},
  };
}

std::vector<call_kind> object_calls() {
  return {
      {"broadcast_object", "broadcast_object(value)",
       [](G g, O o) -> called { return g.broadcast_object(std::optional<int>(7), root, o); }},
      {"gather_objects", "gather_objects(value)",
       [](G g, O o) -> called { return g.gather_objects(7, root, o); }},
      {"scatter_objects", "scatter_objects(values)",
       [](G g, O o) -> called { return g.scatter_objects(values(g), root, o); }},
  };
}

}  // namespace

std::vector<call_kind> collective_calls() {
  auto all = moving_calls();
  for (auto const& c : reducing_calls()) all.push_back(c);
  for (auto const& c : object_calls()) all.push_back(c);
  return all;
}

std::vector<call_kind> receive_calls() {
  return {
      {"recv", "recv(out)", [](G g, O o) -> called { return g.recv(part(), before(g), o); }},
      {"recv", "recv()", [](G g, O o) -> called { return g.recv(before(g), o); }},
      {"recv_object", "recv_object()",
       [](G g, O o) -> called { return g.recv_object<int>(before(g), o); }},
  };
}

std::vector<call_kind> send_calls() {
  return {
      {"send", "send(t)", [](G g, O o) -> called { return g.send(part(), next(g), o); }},
      {"send", "send(t)", [](G g, O o) -> called { return g.send(part(), next(g), o); }},
      {"send_object", "send_object(value)",
       [](G g, O o) -> called { return g.send_object(7, next(g), o); }},
  };
}

}  // namespace hocket::conformance
