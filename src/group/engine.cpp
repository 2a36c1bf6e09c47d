// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/async/promise.hpp>
#include <hocket/group/engine.hpp>

namespace hocket {

work<membership> endpoint::rebuild(clock::duration, detail::port_ptr, std::source_location site) {
  return detail::failed_work<membership>(
      errc::unsupported, "rebuild", label() + ": the engine of this group cannot rebuild it", site);
}

}  // namespace hocket
