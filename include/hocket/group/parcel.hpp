// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/tensor/tensor.hpp>
#include <vector>

namespace hocket {

/// An encoded object: its bytes (u8, one dimension) and the tensors it holds, which travel beside
/// them without being copied into them.
struct parcel {
  parcel() = default;
  /// u8, one dimension, contiguous.
  tensor bytes;
  /// In the order in which the object names them.
  std::vector<tensor> tensors;
};

}  // namespace hocket
