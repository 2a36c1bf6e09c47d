// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/detail/op_base.hpp>
#include <stop_token>

namespace hocket::detail {

/// Cancels the waits of the op when a stop of the token's source is requested, also if it was
/// before. What ties the two is gone when the op settles; a token that can never be stopped costs
/// nothing.
void cancel_on_stop(op_base& op, std::stop_token const& token);

}  // namespace hocket::detail
