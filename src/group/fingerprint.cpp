// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/group/fingerprint.hpp>

namespace hocket {

char const* name_of(op_kind k) noexcept {
  switch (k) {
    case op_kind::barrier:
      return "barrier";
    case op_kind::broadcast:
      return "broadcast";
    case op_kind::all_gather:
      return "all_gather";
    case op_kind::gather:
      return "gather";
    case op_kind::scatter:
      return "scatter";
    case op_kind::reduce:
      return "reduce";
    case op_kind::all_reduce:
      return "all_reduce";
    case op_kind::reduce_scatter:
      return "reduce_scatter";
    case op_kind::all_to_all:
      return "all_to_all";
    case op_kind::broadcast_object:
      return "broadcast_object";
    case op_kind::gather_objects:
      return "gather_objects";
    case op_kind::scatter_objects:
      return "scatter_objects";
    case op_kind::send:
      return "send";
    case op_kind::recv:
      return "recv";
    case op_kind::send_object:
      return "send_object";
    case op_kind::recv_object:
      return "recv_object";
    case op_kind::monitored_barrier:
      return "monitored_barrier";
  }
  return "unknown";
}

std::uint64_t hash_of(shape const& s) noexcept {
  std::uint64_t h = 0xcbf29ce484222325u ^ s.size();  // FNV-1a over the extents
  for (auto const extent : s) h = (h ^ static_cast<std::uint64_t>(extent)) * 0x100000001b3u;
  return h;
}

namespace {

struct compared {
  bool root, tensor, reduction, object;
};

// The table of compared fields, one row a kind of operation. Sends and receives are compared with
// each other when they meet, by dtype and count.
constexpr compared fields_of(op_kind k) noexcept {
  switch (k) {
    case op_kind::barrier:
    case op_kind::monitored_barrier:
      return {false, false, false, false};
    case op_kind::broadcast:
      return {true, true, false, false};
    case op_kind::all_gather:
      return {false, true, false, false};
    case op_kind::gather:
      return {true, true, false, false};
    case op_kind::scatter:
      return {true, true, false, false};
    case op_kind::reduce:
      return {true, true, true, false};
    case op_kind::all_reduce:
      return {false, true, true, false};
    case op_kind::reduce_scatter:
      return {false, true, true, false};
    case op_kind::all_to_all:
      return {false, true, false, false};
    case op_kind::broadcast_object:
      return {true, false, false, true};
    case op_kind::gather_objects:
      return {true, false, false, true};
    case op_kind::scatter_objects:
      return {true, false, false, true};
    case op_kind::send:
    case op_kind::recv:
      return {false, true, false, false};
    case op_kind::send_object:
    case op_kind::recv_object:
      return {false, false, false, true};
  }
  return {true, true, true, true};
}

}  // namespace

difference compare(fingerprint const& a, fingerprint const& b) noexcept {
  if (a.kind != b.kind) return difference::kind;
  auto const fields = fields_of(a.kind);
  if (fields.root && a.root != b.root) return difference::root;
  if (fields.reduction && a.reduction != b.reduction) return difference::reduction;
  if (fields.object && a.type_hash != 0 && b.type_hash != 0 && a.type_hash != b.type_hash)
    return difference::type;
  if (fields.tensor && a.plan_hash != b.plan_hash) return difference::plan;
  if (fields.tensor && a.has_shape && b.has_shape) {
    if (a.dtype != b.dtype) return difference::dtype;
    if (a.count != b.count || a.shape_hash != b.shape_hash) return difference::shape;
  }
  return difference::none;
}

char const* describe(difference d) noexcept {
  switch (d) {
    case difference::none:
      return "they agree";
    case difference::kind:
      return "the ranks called different operations";
    case difference::root:
      return "the roots differ";
    case difference::dtype:
      return "the dtypes differ";
    case difference::shape:
      return "the shapes differ";
    case difference::reduction:
      return "the reductions differ";
    case difference::plan:
      return "the split plans differ";
    case difference::type:
      return "the types of the objects differ";
  }
  return "unknown";
}

}  // namespace hocket
