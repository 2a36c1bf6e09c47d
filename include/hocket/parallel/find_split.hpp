// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <span>

namespace hocket {

/// Extents of a latent video: batch, channels, frames, height, width.
struct shape5 {
  /// Videos in the batch.
  std::int64_t b = 1;
  /// Channels of the latent.
  std::int64_t c = 1;
  /// Frames.
  std::int64_t t = 1;
  /// Rows.
  std::int64_t h = 1;
  /// Columns.
  std::int64_t w = 1;

  /// Five extents from a list; another number of them is `errc::invalid_argument`.
  [[nodiscard]] static shape5 from(std::span<std::int64_t const> extents);
};

/// Extents of one patch along frames, height, width.
struct patch3 {
  /// Frames of a patch.
  std::int64_t t = 1;
  /// Rows of a patch.
  std::int64_t h = 2;
  /// Columns of a patch.
  std::int64_t w = 2;

  /// Three extents from a list; another number of them is `errc::invalid_argument`.
  [[nodiscard]] static patch3 from(std::span<std::int64_t const> extents);
};

/// One rank's extents of a split over `cp_t * cp_h` ranks.
struct split_shape {
  /// Frames that a rank sees.
  std::int64_t t = 0;
  /// Rows that a rank sees.
  std::int64_t h = 0;
  /// Columns that a rank sees: all of them.
  std::int64_t w = 0;
  std::int64_t cp_t = 0;  ///< ranks along the frames
  std::int64_t cp_h = 0;  ///< ranks along the height

  /// Equal in all five.
  friend constexpr bool operator==(split_shape const&, split_shape const&) = default;
};

/// How `cp_size` ranks share the tokens of a video whose frames alone do not divide: as many ranks
/// as fit along the frames, the rest along the height, none along the width. `shape.t` holds
/// `view_factor` views of equal length; the result's `t` is of one view.
///
/// The shards themselves are contiguous runs of the flattened (t h w) tokens; the result is the
/// shape under which a rank sees its run. Any argument below 1, a split that leaves ranks over,
/// and one that is not exact are `errc::invalid_argument`.
[[nodiscard]] split_shape find_split(shape5 const& shape, std::int64_t cp_size,
                                     patch3 const& patch = {}, std::int64_t view_factor = 1);

}  // namespace hocket
