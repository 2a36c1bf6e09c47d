// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstdint>
#include <hocket/tensor/tensor.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// How a dimension of length L is cut into n parts.
enum class layout : std::uint8_t {
  strict,    ///< n equal parts; L must be divisible
  balanced,  ///< the first L % n parts are one longer
  padded,    ///< n equal parts of ceil(L / n), padded with zeros at the end; gather trims
  zigzag,    ///< 2n equal chunks, part r holds r and 2n-1-r; L must be divisible by 2n
  uneven,    ///< sizes given by the caller
};

/// As messages spell it: "balanced".
[[nodiscard]] std::string_view name_of(layout l) noexcept;

/// A run of indices that lies in one piece in the full tensor and in a part.
struct split_piece {
  /// Where it begins in the full dimension.
  std::int64_t full_start = 0;
  /// Where it begins in the part.
  std::int64_t part_start = 0;
  /// Number of indices.
  std::int64_t length = 0;
};

/// The pieces of one part: none, one or two, none of them empty.
class split_pieces {
 public:
  split_pieces() noexcept = default;
  /// One more; there is room for the most that a plan needs.
  void append(split_piece const& p) noexcept { pieces_[size_++] = p; }
  /// @{
  /// The runs in the order of the part.
  [[nodiscard]] split_piece const* begin() const noexcept { return pieces_.data(); }
  [[nodiscard]] split_piece const* end() const noexcept { return pieces_.data() + size_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }
  [[nodiscard]] split_piece const& operator[](std::size_t i) const noexcept { return pieces_[i]; }
  /// @}

 private:
  std::array<split_piece, 2> pieces_{};
  std::size_t size_ = 0;
};

/// Which indices of a dimension belong to which part. A value; copying one does not allocate.
class split_plan {
 public:
  /// The dimension that is cut, counted from the front.
  [[nodiscard]] std::size_t dim() const noexcept { return dim_; }
  /// Of the full dimension.
  [[nodiscard]] std::int64_t length() const noexcept { return length_; }
  /// How many parts; ranks of the group that shares it.
  [[nodiscard]] int parts() const noexcept { return parts_; }
  /// How it is cut.
  [[nodiscard]] hocket::layout layout() const noexcept { return layout_; }

  /// The extent of a part, padding included.
  [[nodiscard]] std::int64_t part_size(int part) const;
  /// The extent of a part without its padding, which lies at its end.
  [[nodiscard]] std::int64_t valid_size(int part) const;
  /// Whether all parts have one size.
  [[nodiscard]] bool is_even() const noexcept;
  /// Where the part's elements lie; padding is in no piece.
  [[nodiscard]] split_pieces pieces(int part) const;

  /// The shape of a part of a tensor with shape `full`, which must have length() along dim().
  [[nodiscard]] shape shard_shape(shape const& full, int part) const;
  /// The shape of the whole, given that of any part.
  [[nodiscard]] shape full_shape(shape const& shard) const;

  /// Equal plans have equal hashes, on every machine and in every version.
  [[nodiscard]] std::uint64_t hash() const noexcept;
  /// The same pieces for every part, along the same dimension.
  friend bool operator==(split_plan const& a, split_plan const& b) noexcept;

 private:
  friend split_plan make_split_plan(hocket::layout, std::int64_t, int, std::int64_t);
  friend split_plan make_split_plan(std::span<std::int64_t const>, std::int64_t);
  split_plan() = default;
  void expect_part(int part) const;
  std::int64_t part_start(int part) const;

  std::size_t dim_ = 0;
  std::int64_t length_ = 0;
  int parts_ = 1;
  hocket::layout layout_ = layout::strict;
  std::shared_ptr<std::vector<std::int64_t> const> starts_;  // of uneven parts, and the end
};

/// "balanced 57826 over 8 along dim 1".
[[nodiscard]] std::string to_string(split_plan const& plan);

/// A plan for `length` indices of dimension `dim` (not negative) over `parts` parts.
/// Throws errc::invalid_argument with the numbers ("57826 % 8 = 2").
[[nodiscard]] split_plan make_split_plan(layout how, std::int64_t length, int parts,
                                         std::int64_t dim);
/// The same for a tensor of shape `full`; here `dim` may count from the back.
[[nodiscard]] split_plan make_split_plan(layout how, shape const& full, int parts,
                                         std::int64_t dim);
/// A plan from the size of each part, in order.
[[nodiscard]] split_plan make_split_plan(std::span<std::int64_t const> sizes, std::int64_t dim);

/// A part as a contiguous tensor with storage of its own; padding is zero.
[[nodiscard]] tensor split(tensor const& full, split_plan const& plan, int part);
/// A part as a view of `full` where it lies in one piece without padding, else as split() does.
[[nodiscard]] tensor split_view(tensor const& full, split_plan const& plan, int part);
/// Copies a part to its place in `full`; padding is dropped. The two must not overlap.
void place(tensor const& full, tensor const& shard, split_plan const& plan, int part);
/// As above into storage leased by the caller.
void place(tensor const& full, tensor const& shard, split_plan const& plan, int part,
           write_lease const& lease);
/// The whole from all its parts, in order: gather(split(x)) is x, bit for bit.
[[nodiscard]] tensor gather(std::span<tensor const> shards, split_plan const& plan);

}  // namespace hocket
