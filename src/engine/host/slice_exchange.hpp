// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <memory>

#include "engine/matching/meeting.hpp"
#include "host_hub.hpp"

namespace hocket::host {

/// Whether an operation between `members` goes in two phases: alike on all of them.
[[nodiscard]] bool goes_in_slices(fingerprint const& print, int members) noexcept;

/// One rank's part of a reduction in two phases, `goes_in_slices`. It reduces its slice of all
/// inputs and says so (`frame_kind::ready`), which also says that it reads the inputs no more; from
/// the others it fetches the slices that they have reduced. An output that is the input may be
/// written at a slice once the slice's rank is ready: nobody else reads it there.
void carry_in_slices(std::shared_ptr<host_hub> at, matching::meeting& m) noexcept;

/// Whether `carry_part` can do this rank's part of a reduce_scatter: where its elements lie in one
/// piece, in its input as in its output.
[[nodiscard]] bool reduces_one_piece(request const& own);
/// One rank's part of a reduce_scatter, reduced while it is read.
void carry_part(std::shared_ptr<host_hub> at, matching::meeting& m) noexcept;

}  // namespace hocket::host
