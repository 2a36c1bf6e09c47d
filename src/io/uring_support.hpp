// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <liburing.h>

#include <boost/system/error_code.hpp>
#include <string>

namespace hocket::io {

/// Whether this process may use io_uring here and now, and if not, what it was refused.
struct uring_support {
  bool usable = false;
  boost::system::error_code code;  ///< of the call that failed
  std::string reason;              ///< which step failed, with its numbers and the usual cause
  unsigned flags = 0;              ///< IORING_SETUP_* the kernel took
  unsigned features = 0;           ///< IORING_FEAT_* it has
};

/// Opens a ring and tries it out: set-up (without the flags an older kernel does not know), the
/// features and operations that are needed, and one NOP through to its completion, since a filter
/// may allow the set-up and deny the rest. The ring is open only if the answer is `usable`.
[[nodiscard]] uring_support open_ring(io_uring& ring, unsigned entries);

/// The same with a ring that is closed again.
[[nodiscard]] uring_support probe_uring();

}  // namespace hocket::io
