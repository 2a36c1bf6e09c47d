// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

#include "wordpiece.hpp"

namespace embed {

/// What rank 0 tells all ranks first: how many requests will come, or why none will.
struct opening {
  std::uint64_t requests = 0;
  std::string story;       ///< of the failure; empty: there was none
  bool is_system = false;  ///< whose number `code` is: the system's or `hocket::errc`
  std::int32_t code = 0;
};

template <class V>
void hocket_describe(V& v, opening& o) {
  v(o.requests, "requests");
  v(o.story, "story");
  v(o.is_system, "is_system");
  v(o.code, "code");
}

/// The opening that says what `failure` says.
[[nodiscard]] opening refusal(std::exception_ptr const& failure);

/// Throws what the opening says, as `hocket::error`, if it says that there was a failure.
void rethrow(opening const& o);

/// One sentence on its way through the ranks.
struct embed_request {
  std::uint64_t id = 0;  ///< from 1 on, in order; also the number of its channels
  std::vector<token_id> tokens;
};

template <class V>
void hocket_describe(V& v, embed_request& r) {
  v(r.id, "id");
  v(r.tokens, "tokens");
}

}  // namespace embed
