// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <memory>

#include "bert_encoder.hpp"
#include "command_line.hpp"

namespace embed {

/// Whether the user is to be told that a tiny model's vectors mean nothing.
enum class remark { made, left_out };

/// The model that the command line asks for: from its directory, or a tiny one that is written
/// first and is the same wherever it is written. Throws the system's error where there is none.
[[nodiscard]] std::shared_ptr<bert_model const> open_model(command_line const& line, remark told);

}  // namespace embed
