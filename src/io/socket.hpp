// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include "io/address.hpp"
#include "io/poller.hpp"

namespace hocket::io {

/// A stream socket of the address's family that neither blocks nor is inherited; none, with errno,
/// if there is no descriptor left.
[[nodiscard]] unique_fd open_socket(address const& a) noexcept;

/// What every connection wants: small frames leave at once, a host that vanished from an idle
/// connection is noticed within a minute, large buffers. An option that is refused stays as it was.
void tune_connection(int socket) noexcept;

}  // namespace hocket::io
