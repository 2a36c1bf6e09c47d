// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <limits>

namespace hocket {

std::string_view name_of(layout l) noexcept {
  switch (l) {
    case layout::strict:
      return "strict";
    case layout::balanced:
      return "balanced";
    case layout::padded:
      return "padded";
    case layout::zigzag:
      return "zigzag";
    case layout::uneven:
      return "uneven";
  }
  return "invalid layout";
}

std::string to_string(split_plan const& plan) {
  return fmt::format("{} {} over {} along dimension {}", name_of(plan.layout()), plan.length(),
                     plan.parts(), plan.dim());
}

split_plan make_split_plan(layout how, std::int64_t length, int parts, std::int64_t dim) {
  auto const refuse = [&](std::string const& why) {
    throw error(errc::invalid_argument,
                fmt::format("{} split of length {} over {} parts along dimension {}: {}",
                            name_of(how), length, parts, dim, why));
  };
  if (parts < 1) refuse("at least one part is needed");
  if (length < 0) refuse("the length is negative");
  if (dim < 0 || dim >= static_cast<std::int64_t>(shape::ndim_max))
    refuse(fmt::format("the dimension is not in [0, {})", shape::ndim_max));
  auto const chunks = std::int64_t{2} * parts;
  switch (how) {
    case layout::strict:
      if (length % parts != 0) refuse(fmt::format("{} % {} = {}", length, parts, length % parts));
      break;
    case layout::zigzag:
      if (length % chunks != 0)
        refuse(fmt::format("{} % (2 * {}) = {}", length, parts, length % chunks));
      break;
    case layout::padded:
      if (length > std::numeric_limits<std::int64_t>::max() - parts)
        refuse("the padded length is more than 2^63 - 1");
      break;
    case layout::balanced:
      break;
    case layout::uneven:
      refuse("it is made from the size of each part");
      break;
  }
  split_plan plan;
  plan.dim_ = static_cast<std::size_t>(dim);
  plan.length_ = length;
  plan.parts_ = parts;
  plan.layout_ = how;
  return plan;
}

split_plan make_split_plan(layout how, shape const& full, int parts, std::int64_t dim) {
  auto const index = full.dim_index(dim);
  return make_split_plan(how, full[index], parts, static_cast<std::int64_t>(index));
}

split_plan make_split_plan(std::span<std::int64_t const> sizes, std::int64_t dim) {
  auto const refuse = [&](std::string const& why) {
    throw error(
        errc::invalid_argument,
        fmt::format("uneven split into {} parts along dimension {}: {}", sizes.size(), dim, why));
  };
  if (sizes.empty()) refuse("at least one part is needed");
  if (sizes.size() > static_cast<std::size_t>(std::numeric_limits<int>::max()))
    refuse("too many parts");
  if (dim < 0 || dim >= static_cast<std::int64_t>(shape::ndim_max))
    refuse(fmt::format("the dimension is not in [0, {})", shape::ndim_max));
  auto starts = std::make_shared<std::vector<std::int64_t>>();
  starts->reserve(sizes.size() + 1);
  std::int64_t length = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    starts->push_back(length);
    if (sizes[i] < 0) refuse(fmt::format("size {} of part {} is negative", sizes[i], i));
    if (__builtin_add_overflow(length, sizes[i], &length)) refuse("the length is above 2^63 - 1");
  }
  starts->push_back(length);
  split_plan plan;
  plan.dim_ = static_cast<std::size_t>(dim);
  plan.length_ = length;
  plan.parts_ = static_cast<int>(sizes.size());
  plan.layout_ = layout::uneven;
  plan.starts_ = std::move(starts);
  return plan;
}

void split_plan::expect_part(int part) const {
  if (part < 0 || part >= parts_)
    throw error(errc::invalid_argument,
                fmt::format("part {} is not in [0, {}) of {}", part, parts_, to_string(*this)));
}

std::int64_t split_plan::part_size(int part) const {
  expect_part(part);
  switch (layout_) {
    case layout::strict:
    case layout::zigzag:
      return length_ / parts_;
    case layout::balanced:
      return length_ / parts_ + (part < length_ % parts_ ? 1 : 0);
    case layout::padded:
      return (length_ + parts_ - 1) / parts_;
    case layout::uneven:
      break;
  }
  auto const i = static_cast<std::size_t>(part);
  return (*starts_)[i + 1] - (*starts_)[i];
}

// Of the part's first index; not for zigzag. Padded parts may start past the end.
std::int64_t split_plan::part_start(int part) const {
  switch (layout_) {
    case layout::balanced:
      return part * (length_ / parts_) + std::min<std::int64_t>(part, length_ % parts_);
    case layout::uneven:
      return (*starts_)[static_cast<std::size_t>(part)];
    default:
      return std::min(part * part_size(part), length_);
  }
}

std::int64_t split_plan::valid_size(int part) const {
  auto const size = part_size(part);
  return layout_ == layout::padded ? std::min(size, length_ - part_start(part)) : size;
}

bool split_plan::is_even() const noexcept {
  switch (layout_) {
    case layout::balanced:
      return length_ % parts_ == 0;
    case layout::uneven:
      for (std::size_t i = 0; i + 1 < starts_->size(); ++i)
        if ((*starts_)[i + 1] - (*starts_)[i] != (*starts_)[1]) return false;
      return true;
    default:
      return true;
  }
}

split_pieces split_plan::pieces(int part) const {
  split_pieces list;
  auto const valid = valid_size(part);
  if (valid == 0) return list;
  if (layout_ != layout::zigzag) {
    list.append({part_start(part), 0, valid});
    return list;
  }
  auto const chunk = valid / 2;
  if (part == parts_ - 1) {  // its two chunks are neighbours
    list.append({part * chunk, 0, valid});
    return list;
  }
  list.append({part * chunk, 0, chunk});
  list.append({(2 * std::int64_t{parts_} - 1 - part) * chunk, chunk, chunk});
  return list;
}

shape split_plan::shard_shape(shape const& full, int part) const {
  if (dim_ >= full.size() || full[dim_] != length_)
    throw error(errc::invalid_argument,
                fmt::format("shape {} does not fit the plan: {}", hocket::to_string(full),
                            hocket::to_string(*this)));
  auto shard = full;
  shard.set(dim_, part_size(part));
  return shard;
}

shape split_plan::full_shape(shape const& shard) const {
  if (dim_ >= shard.size())
    throw error(errc::invalid_argument,
                fmt::format("shape {} of a part does not fit the plan: {}",
                            hocket::to_string(shard), hocket::to_string(*this)));
  auto full = shard;
  full.set(dim_, length_);
  return full;
}

std::uint64_t split_plan::hash() const noexcept {
  // FNV-1a over the bytes of each number, lowest first, so that byte order does not matter.
  std::uint64_t h = 0xcbf29ce484222325U;
  auto const add = [&h](std::uint64_t value) {
    for (int i = 0; i < 8; ++i, value >>= 8) h = (h ^ (value & 0xffU)) * 0x100000001b3U;
  };
  add(static_cast<std::uint64_t>(layout_));
  add(dim_);
  add(static_cast<std::uint64_t>(length_));
  add(static_cast<std::uint64_t>(parts_));
  if (starts_)
    for (auto const start : *starts_) add(static_cast<std::uint64_t>(start));
  return h;
}

bool operator==(split_plan const& a, split_plan const& b) noexcept {
  return a.layout_ == b.layout_ && a.dim_ == b.dim_ && a.length_ == b.length_ &&
         a.parts_ == b.parts_ && (a.starts_ == b.starts_ || *a.starts_ == *b.starts_);
}

}  // namespace hocket
