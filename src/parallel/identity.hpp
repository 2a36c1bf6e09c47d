// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/parallel/placement.hpp>
#include <hocket/tensor/tensor.hpp>

namespace hocket::detail {

/// A block as a view of the tensor that has index `origin` of the whole at its own index 0.
[[nodiscard]] tensor block_of(tensor const& t, tensor_box const& box,
                              tensor_box const& origin = {});

/// Whether a rank keeps the value when it becomes partial: the first along each such dimension, and
/// all where contributions are averaged.
[[nodiscard]] bool starts_with_value(placements const& where, mesh_coordinate const& at);

/// Fills with what changes nothing in the reduction that `where` names.
void fill_identity(tensor const& t, placements const& where);

}  // namespace hocket::detail
