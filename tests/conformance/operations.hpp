// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <span>

#include "trial.hpp"

namespace hocket::conformance {

/// Every operation that moves tensors, in every form; each run checks what arrives on its rank.
[[nodiscard]] std::span<tried const> movements();
/// Every operation that reduces; a pair that has no meaning must be refused.
[[nodiscard]] std::span<tried const> reductions();

}  // namespace hocket::conformance
