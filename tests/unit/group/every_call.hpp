// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/process_group.hpp>
#include <string>
#include <vector>

#include "ending.hpp"

namespace hocket::test {

/// What the calls of a list have in common.
struct call_args {
  call_args(std::int64_t r, member at, op_options const& o) : rows(r), root(at), options(o) {}
  std::int64_t rows;  ///< of each rank's part; 0: tensors without elements
  member root;        ///< of a rooted call; the peer of a message
  op_options options;
};

/// One of a group's calls with arguments that are right on every rank of any group.
struct group_call {
  std::string name;  ///< as errors spell it
  std::string form;  ///< as a program writes it
  bool is_rooted;
  detail::op_ref (*start)(process_group const& g, call_args const& a);
};

template <class T>
detail::op_ref begun(work<T> const& w) {
  return detail::op_ref(w.state().get());
}

inline tensor part_of(call_args const& a) { return tensor::full(dtype::f32, {a.rows, 3}, 1); }
inline tensor whole_of(process_group const& g, call_args const& a) {
  return tensor::full(dtype::f32, {a.rows * g.size(), 3}, 1);
}
inline split_plan rows_of(process_group const& g, call_args const& a) {
  return make_split_plan(layout::strict, a.rows * g.size(), g.size(), 0);
}

using G = process_group const&;
using A = call_args const&;

/// Each collective once.
inline std::vector<group_call> collectives() {
  return {
      {"barrier", "barrier()", false, [](G g, A a) { return begun(g.barrier(a.options)); }},
      {"monitored_barrier", "monitored_barrier()", false,
       [](G g, A a) { return begun(g.monitored_barrier(a.options)); }},
      {"broadcast", "broadcast(t)", true,
       [](G g, A a) { return begun(g.broadcast(part_of(a), a.root, a.options)); }},
      {"all_gather", "all_gather(out, in)", false,
       [](G g, A a) { return begun(g.all_gather(whole_of(g, a), part_of(a), a.options)); }},
      {"gather", "gather(out, in)", true,
       [](G g, A a) { return begun(g.gather(whole_of(g, a), part_of(a), a.root, a.options)); }},
      {"scatter", "scatter(out, in)", true,
       [](G g, A a) { return begun(g.scatter(part_of(a), whole_of(g, a), a.root, a.options)); }},
      {"reduce", "reduce(out, in)", true,
       [](G g, A a) {
         return begun(g.reduce(part_of(a), part_of(a), reduction::sum, a.root, a.options));
       }},
      {"all_reduce", "all_reduce(t)", false,
       [](G g, A a) { return begun(g.all_reduce(part_of(a), reduction::sum, a.options)); }},
      {"reduce_scatter", "reduce_scatter(out, in)", false,
       [](G g, A a) {
         return begun(g.reduce_scatter(part_of(a), whole_of(g, a), reduction::sum, a.options));
       }},
      {"all_to_all", "all_to_all(out, in)", false,
       [](G g, A a) { return begun(g.all_to_all(whole_of(g, a), whole_of(g, a), a.options)); }},
      {"broadcast_object", "broadcast_object(value)", true,
       [](G g, A a) {
         return begun(g.broadcast_object<int>(g.rank().value(), a.root, a.options));
       }},
      {"gather_objects", "gather_objects(value)", true,
       [](G g, A a) { return begun(g.gather_objects<int>(g.rank().value(), a.root, a.options)); }},
      {"scatter_objects", "scatter_objects(values)", true,
       [](G g, A a) {
         std::vector<int> const values(static_cast<std::size_t>(g.size()), 5);
         return begun(g.scatter_objects<int>(values, a.root, a.options));
       }},
  };
}

/// The other ways of calling the same collectives.
inline std::vector<group_call> other_forms() {
  return {
      {"broadcast", "broadcast(optional)", true,
       [](G g, A a) {
         return begun(g.broadcast(std::optional<tensor>(part_of(a)), a.root, a.options));
       }},
      {"scatter", "scatter(optional)", true,
       [](G g, A a) {
         return begun(g.scatter(std::optional<tensor>(whole_of(g, a)), 0, layout::balanced, a.root,
                                a.options));
       }},
      {"all_gather", "all_gather_v(out, in, plan)", false,
       [](G g, A a) {
         return begun(g.all_gather_v(whole_of(g, a), part_of(a), rows_of(g, a), a.options));
       }},
      {"gather", "gather_v(out, in, plan)", true,
       [](G g, A a) {
         return begun(g.gather_v(whole_of(g, a), part_of(a), rows_of(g, a), a.root, a.options));
       }},
      {"scatter", "scatter_v(out, in, plan)", true,
       [](G g, A a) {
         return begun(g.scatter_v(part_of(a), whole_of(g, a), rows_of(g, a), a.root, a.options));
       }},
      {"all_reduce", "all_reduce(out, in)", false,
       [](G g, A a) {
         return begun(g.all_reduce(part_of(a), part_of(a), reduction::max, a.options));
       }},
      {"reduce_scatter", "reduce_scatter_v(out, in, plan)", false,
       [](G g, A a) {
         return begun(g.reduce_scatter_v(part_of(a), whole_of(g, a), rows_of(g, a), reduction::sum,
                                         a.options));
       }},
      {"all_to_all", "all_to_all_v(out, plan, in, plan)", false,
       [](G g, A a) {
         auto const plan = rows_of(g, a);
         return begun(g.all_to_all_v(whole_of(g, a), plan, whole_of(g, a), plan, a.options));
       }},
  };
}

inline std::vector<group_call> all_collectives() {
  auto all = collectives();
  for (auto const& c : other_forms()) all.push_back(c);
  return all;
}

/// Receives and sends, to or from the root.
inline std::vector<group_call> receives() {
  return {
      {"recv", "recv(out)", true,
       [](G g, A a) { return begun(g.recv(part_of(a), a.root, a.options)); }},
      {"recv", "recv()", true, [](G g, A a) { return begun(g.recv(a.root, a.options)); }},
      {"recv_object", "recv_object()", true,
       [](G g, A a) { return begun(g.recv_object<int>(a.root, a.options)); }},
  };
}
inline std::vector<group_call> sends() {
  return {
      {"send", "send(t)", true,
       [](G g, A a) { return begun(g.send(part_of(a), a.root, a.options)); }},
      {"send_object", "send_object(value)", true,
       [](G g, A a) { return begun(g.send_object(7, a.root, a.options)); }},
  };
}

/// Every call there is.
inline std::vector<group_call> all_calls() {
  auto all = all_collectives();
  for (auto const& c : receives()) all.push_back(c);
  for (auto const& c : sends()) all.push_back(c);
  return all;
}

/// How a call that must be over has ended.
inline ending over(detail::op_ref const& op) {
  if (!op->settled()) return {make_error_code(errc::would_block), "(still pending)"};
  return ending_of(op->why().exception);
}

}  // namespace hocket::test
