// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/async/runtime.hpp>

namespace boost::asio {
class io_context;
}

namespace hocket {

/// Runs the context's handlers as `ctx.run()` does, and drives the runtime between them, so that
/// an operation that this thread waits for ends here without waking another thread. When nothing
/// has happened for 50 us it sleeps, and leaves the runtime to its own thread; it does so too while
/// a handler takes longer than 200 us. Several threads may run one context.
/// Returns how many handlers it ran, when the context is out of work or stopped.
std::size_t run(boost::asio::io_context& ctx, runtime& rt = runtime::process());

}  // namespace hocket
