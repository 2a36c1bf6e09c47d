// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <hocket/group/process_group.hpp>
#include <hocket/parallel/mesh_layout.hpp>
#include <optional>
#include <utility>

namespace hocket::detail {

/// What the handles of one rank's mesh share.
class mesh_core {
 public:
  mesh_core() = default;
  explicit mesh_core(mesh_layout l) : layout(std::move(l)) {}

  mesh_layout layout;
  std::optional<world_rank> rank;  ///< none: a layout alone
  mesh_coordinate where{};
  process_group whole;
  std::array<process_group, mesh_layout::ndim_max> along;
  bool owns_groups = false;
  std::atomic<std::uint64_t> bytes_received{0};
};

}  // namespace hocket::detail
