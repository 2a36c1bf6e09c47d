// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

/// Version of the headers; compare with `hocket::version()`, the version of the linked library.
#define HOCKET_VERSION_MAJOR 0
#define HOCKET_VERSION_MINOR 1
#define HOCKET_VERSION_PATCH 0

namespace hocket {

/// "0.1.0": the version of the linked library.
[[nodiscard]] char const* version() noexcept;

}  // namespace hocket
