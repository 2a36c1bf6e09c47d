// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/tensor/tensor.hpp>
#include <string>

namespace hocket {

/// The elements as nested lists, then dtype, shape and, off the host, the device. Past 1,000
/// elements only the ends of each dimension are shown. A device tensor shows no elements.
[[nodiscard]] std::string to_string(tensor const& t);

}  // namespace hocket
