// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <span>
#include <vector>

#include "bert_encoder.hpp"

namespace embed {

/// The unit vector of a sentence, computed without ranks: what every distributed run must give.
/// `weights` holds all layers. Throws `errc::invalid_argument` for no tokens, more tokens than the
/// model has positions, or an id outside the vocabulary.
[[nodiscard]] std::vector<float> embed_local(bert_config const& config, bert_weights const& weights,
                                             std::span<token_id const> ids);

}  // namespace embed
