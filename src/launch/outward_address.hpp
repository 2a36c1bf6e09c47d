// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <string>

#include "io/address.hpp"

namespace hocket {

/// The address of this host, port 0, from which the kernel would call `host`. Sends nothing.
/// `host` is a number or a name that resolves at once (it has been called before).
[[nodiscard]] io::address outward_address(std::string const& host, std::uint16_t port);

}  // namespace hocket
