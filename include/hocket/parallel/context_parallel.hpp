// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/op_options.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/parallel/differentiable.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <hocket/tensor/tensor.hpp>
#include <optional>
#include <source_location>
#include <string>
#include <utility>

namespace hocket {

// Context parallelism: each rank of a group holds a part of the sequence. `seq_dim` may count from
// the back. On a disabled group every function here is the identity: it returns the same object, at
// once, and checks only that a plan has one part.

/// This rank's part of `x` along `seq_dim`: a contiguous tensor with storage of its own. Local: no
/// communication. Throws `errc::invalid_argument` with the numbers for a wrong dimension and for a
/// length that the layout cannot cut ("57826 % 8 = 2"), alike on all ranks.
[[nodiscard]] tensor split_inputs_cp(tensor const& x, int seq_dim, process_group const& group = {},
                                     layout how = layout::strict);
/// The same by a plan, which must have one part for each rank.
[[nodiscard]] tensor split_inputs_cp(tensor const& x, split_plan const& plan,
                                     process_group const& group = {});

/// The whole from every rank's equal part, in group order along `seq_dim`, on every rank. The parts
/// land in the result directly. Ranks whose shapes or dtypes differ all get `errc::mismatch`. `x`
/// must not be written until the operation is `released()`.
[[nodiscard]] work<tensor> cat_outputs_cp(
    tensor x, int seq_dim, process_group const& group = {}, op_options const& options = {},
    std::source_location site = std::source_location::current());
/// The whole from the parts of a plan, of any layout: undoes `split_inputs_cp` bit for bit, without
/// the padding. A part that is not what the plan says is `errc::invalid_argument` on its rank and
/// `errc::peer_failed` on the others; other plans on other ranks are `errc::mismatch`.
[[nodiscard]] work<tensor> cat_outputs_cp(
    tensor x, split_plan const& plan, process_group const& group = {},
    op_options const& options = {}, std::source_location site = std::source_location::current());

/// `cat_outputs_cp` for a forward pass that is differentiated.
[[nodiscard]] work<differentiable<tensor>> cat_outputs_cp_with_grad(
    tensor x, int seq_dim, process_group const& group = {}, op_options const& options = {},
    std::source_location site = std::source_location::current());
/// Likewise by a plan, for parts of different sizes.
[[nodiscard]] work<differentiable<tensor>> cat_outputs_cp_with_grad(
    tensor x, split_plan const& plan, process_group const& group = {},
    op_options const& options = {}, std::source_location site = std::source_location::current());

// Broadcasts come from the member with the smallest world rank, wherever it stands in the group.
// What the others pass is not used: not its value, dtype or shape, nor whether there is one. All
// ranks call the same overload; a tensor here and an object there are `errc::mismatch` on all.

/// The first rank's tensor on every rank; there it is the same object. Dtype and shape travel with
/// it. An undefined one is `errc::invalid_argument` there and `errc::peer_failed` elsewhere.
[[nodiscard]] work<tensor> broadcast(tensor x, process_group const& group = {},
                                     op_options const& options = {},
                                     std::source_location site = std::source_location::current());
/// The same where the first rank may have none: then no rank has one.
[[nodiscard]] work<std::optional<tensor>> broadcast(
    std::optional<tensor> x, process_group const& group = {}, op_options const& options = {},
    std::source_location site = std::source_location::current());
/// The first rank's value on every rank: strings, numbers, containers, structs with a
/// `hocket_describe`, tensors among them (see `encode_object`), also `std::optional` of any of
/// these. A value that cannot be encoded fails as an undefined tensor does.
template <class T>
[[nodiscard]] work<T> broadcast(T value, process_group const& group = {},
                                op_options const& options = {},
                                std::source_location site = std::source_location::current());
/// A string.
[[nodiscard]] inline work<std::string> broadcast(
    char const* text, process_group const& group = {}, op_options const& options = {},
    std::source_location site = std::source_location::current());

/// Each rank's part of the first rank's tensor, cut along `seq_dim`: one scatter, the same result
/// as a broadcast and then `split_inputs_cp`. If the first rank has none, no rank has one; what the
/// others pass is not used. All ranks give the same `seq_dim`, spelt alike, and layout, else
/// `errc::mismatch`. A tensor that cannot be cut is `errc::invalid_argument` on the first rank and
/// `errc::peer_failed`, with its numbers, on the others.
[[nodiscard]] work<std::optional<tensor>> broadcast_split_tensor(
    std::optional<tensor> x, int seq_dim, process_group const& group = {},
    layout how = layout::strict, op_options const& options = {},
    std::source_location site = std::source_location::current());

// ---------------------------------------------------------------- templates

template <class T>
work<T> broadcast(T value, process_group const& group, op_options const& options,
                  std::source_location site) {
  if (group.is_disabled()) return make_ready_work<T>(nullptr, std::move(value));
  std::optional<T> given(std::in_place, std::move(value));
  return group.broadcast_object<T>(std::move(given), group.members().lowest(), options, site);
}

inline work<std::string> broadcast(char const* text, process_group const& group,
                                   op_options const& options, std::source_location site) {
  return broadcast(std::string(text), group, options, site);
}

}  // namespace hocket
