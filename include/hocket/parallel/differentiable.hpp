// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/tensor/split_plan.hpp>
#include <hocket/tensor/tensor.hpp>
#include <optional>
#include <utility>

namespace hocket {

template <class T>
class differentiable;

/// A gathered tensor that knows which part of it came from this rank.
template <>
class differentiable<tensor> {
 public:
  differentiable() = default;
  /// The result of a gather by `plan` to which this rank gave part `part`.
  differentiable(tensor v, split_plan plan, int part)
      : value(std::move(v)), plan_(std::move(plan)), part_(part) {}
  /// A value that is all this rank's own.
  explicit differentiable(tensor v) : value(std::move(v)) {}

  /// The result of the forward operation.
  tensor value;

  /// The gradient of what this rank gave, from that of `value`: its own slice, bit for bit, as a
  /// contiguous tensor (`grad` itself when nothing was gathered). Not reduced and not scaled: right
  /// when every rank computes the same loss, or when gradients are reduced later.
  /// `errc::invalid_argument` unless `grad` has the shape of `value`; any dtype is taken.
  [[nodiscard]] tensor pullback(tensor const& grad) const;

 private:
  std::optional<split_plan> plan_;
  int part_ = 0;
};

}  // namespace hocket
