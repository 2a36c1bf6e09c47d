// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/tensor/tensor.hpp>

namespace hocket::detail {

/// A contiguous copy of `t`, in host memory and of a real or complex dtype from f16 on, each
/// element times the factor and rounded once.
[[nodiscard]] tensor scaled(tensor const& t, double factor);

}  // namespace hocket::detail
