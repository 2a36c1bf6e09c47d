// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <hocket/error.hpp>
#include <hocket/parallel/dtensor.hpp>
#include <hocket/tensor/copy.hpp>

#include "identity.hpp"
#include "redistribution.hpp"

namespace hocket {
namespace {

void check_partials(dtype type, placements const& where) {
  placement const* first = nullptr;
  for (auto const& p : where) {
    if (!p.is_partial()) continue;
    if (!is_reducible(type, p.reduction()))
      throw error(errc::invalid_argument,
                  fmt::format("{} of {} is not defined: {}", name_of(p.reduction()), name_of(type),
                              to_string(where)));
    if (first == nullptr) first = &p;
    if (first->reduction() != p.reduction())
      throw error(
          errc::invalid_argument,
          fmt::format("placements {}: one tensor cannot be partial by two reductions, whose "
                      "order would matter",
                      to_string(where)));
  }
}

}  // namespace

std::shared_ptr<dtensor::description const> dtensor::describe(hocket::dtype type, device_mesh mesh,
                                                              hocket::placements where,
                                                              hocket::shape const& global) {
  check_partials(type, where);
  static_cast<void>(local_box(global, mesh.layout(), where, {}));  // they go together
  auto d = std::make_shared<description>();
  d->type = type;
  d->global = global;
  d->mesh = std::move(mesh);
  d->where = std::move(where);
  return d;
}

dtensor::dtensor(tensor local, device_mesh mesh, hocket::placements where,
                 hocket::shape const& global)
    : local_(std::move(local)),
      spec_(describe(local_.dtype(), std::move(mesh), std::move(where), global)) {
  auto const& m = spec_->mesh;
  auto const right = local_box(global, m.layout(), spec_->where, m.coordinate()).extents();
  if (local_.shape() != right)
    throw error(errc::invalid_argument,
                fmt::format("the shard of world rank {} is {}, but of {} {} on {} it must be {}",
                            m.rank().value(), to_string(local_.shape()), to_string(global),
                            to_string(spec_->where), to_string(m.layout()), to_string(right)));
}

dtensor dtensor::elsewhere(hocket::dtype type, device_mesh mesh, hocket::placements where,
                           hocket::shape const& global) {
  if (mesh.has_groups())
    throw error(errc::invalid_argument,
                fmt::format("world rank {} is in the mesh {}: it has a shard", mesh.rank().value(),
                            to_string(mesh.layout())));
  dtensor x;
  x.spec_ = describe(type, std::move(mesh), std::move(where), global);
  return x;
}

dtensor::description const& dtensor::spec() const {
  if (spec_) return *spec_;
  throw error(errc::invalid_argument, "an undefined dtensor");
}

tensor const& dtensor::to_local() const {
  if (has_local()) return local_;
  throw error(errc::not_a_member, fmt::format("this rank has no shard of {}", brief(*this)));
}

std::string brief(dtensor const& x) {
  if (!x.defined()) return "undefined";
  return fmt::format("{}{} {} on {}", name_of(x.dtype()), to_string(x.shape()),
                     to_string(x.where()), to_string(x.mesh().layout()));
}

std::string brief(state_tensor const& x) {
  return x.sharded() ? brief(*x.sharded()) : brief(x.local());
}

dtensor distribute_tensor(tensor const& full, device_mesh mesh, placements where) {
  auto const box = local_box(full.shape(), mesh.layout(), where, mesh.coordinate());
  check_partials(full.dtype(), where);
  auto local = tensor::empty(full.dtype(), box.extents());
  if (detail::starts_with_value(where, mesh.coordinate())) {
    copy(local, detail::block_of(full, box));
  } else {
    detail::fill_identity(local, where);
  }
  return dtensor(std::move(local), std::move(mesh), std::move(where), full.shape());
}

std::uint64_t redistribute_bytes(dtype type, shape const& full, mesh_layout const& from_mesh,
                                 placements const& from, mesh_layout const& to_mesh,
                                 placements const& to) {
  check_partials(type, from);
  check_partials(type, to);
  detail::redistribution const plan(full, detail::tensor_side(from_mesh, from),
                                    detail::tensor_side(to_mesh, to));
  return static_cast<std::uint64_t>(plan.elements_min()) * size_of(type);
}

}  // namespace hocket
