// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/store.hpp>
#include <memory>

namespace hocket::host {

class host_joiner;

/// What groups need to go on without members that are lost.
struct succession_tools {
  std::weak_ptr<store> at;            ///< where survivors agree, while it lives; null: nowhere
  std::weak_ptr<host_joiner> joiner;  ///< of the next group
  std::weak_ptr<void> engine;         ///< what its members keep alive
};

}  // namespace hocket::host
