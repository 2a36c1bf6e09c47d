// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/topology/axis.hpp>
#include <string>

namespace hocket::tools {

/// Axes whose groups are asked for, with the spelling in which they were.
struct named_set {
  std::string key;
  axis_set axes;
};

}  // namespace hocket::tools
