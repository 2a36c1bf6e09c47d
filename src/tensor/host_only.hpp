// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/tensor/tensor.hpp>

namespace hocket::detail {

/// Throws errc::unsupported, naming `function`, when the tensor's bytes are not in host memory.
void expect_host(tensor const& t, char const* function);

}  // namespace hocket::detail
