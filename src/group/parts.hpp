// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/group/request.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <hocket/tensor/tensor.hpp>

namespace hocket::detail {

/// Each throws errc::invalid_argument with both values; `what` names the tensor.
void expect_shape(tensor const& t, shape const& right, char const* what);
void expect_dtype(tensor const& t, dtype right, char const* what);
void expect_parts(split_plan const& plan, int n);

/// A part as a slice of the whole: [k, ...] of [n*k, ...], or [...] of [n, ...].
[[nodiscard]] tensor as_slice(tensor const& part, std::size_t whole_ndim);
/// The plan of `n` parts like this one along the first dimension.
[[nodiscard]] split_plan equal_parts(tensor const& part, int n);
/// Checks this rank's part, by `r.plan`, against the whole where it has one; fills the print.
void match_part(request& r, tensor const& part, tensor const* whole, int rank);

}  // namespace hocket::detail
