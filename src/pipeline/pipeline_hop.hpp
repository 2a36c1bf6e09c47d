// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace hocket::detail {

/// Why a request ends without a result; nothing if it has one.
struct ending {
  static constexpr std::int32_t aborted = -1;

  ending() = default;
  ending(std::int32_t c, std::string s) : code(c), story(std::move(s)) {}
  /// Of what a stage function threw.
  [[nodiscard]] static ending of(std::exception_ptr const& e);

  [[nodiscard]] bool is_early() const noexcept { return code != 0; }

  std::int32_t code = 0;  ///< of `errc`, or `aborted`
  std::string story;
};

/// What the messages between stages, and among the peers of a stage, say of a request.
enum class hop_kind : std::uint8_t {
  data,    ///< to the next stage: the request comes, its tensor has been sent
  dead,    ///< to the next stage: the request has ended before it; drop what is there for it
  cancel,  ///< to the next stage, or to the first of the peers: end it where it is
  done,    ///< from the last stage to the first: every stage is done with it
  close,   ///< to the next stage, and among peers: nothing comes after this
  run,     ///< from the first of the peers: it is this request's turn
  kill,    ///< from the first of the peers: end the call of the function
  ended,   ///< to the first of the peers: how the call ended here
  verdict  ///< from the first of the peers: how the request goes on from this stage
};

/// Tensors that have been sent past stages, and not been taken yet: from, to.
using skip_list = std::vector<std::pair<std::int32_t, std::int32_t>>;

struct hop {
  hop() = default;
  hop(hop_kind k, std::uint64_t i) : kind(k), id(i) {}

  hop_kind kind = hop_kind::close;
  std::uint64_t id = 0;
  std::int32_t priority = 0;
  std::string note;
  ending end;
  skip_list skips;
};

template <class V>
void hocket_describe(V& v, ending& e) {
  v(e.code, "code"), v(e.story, "story");
}
template <class V>
void hocket_describe(V& v, hop& h) {
  v(h.kind, "kind"), v(h.id, "id"), v(h.priority, "priority"), v(h.note, "note");
  v(h.end, "end"), v(h.skips, "skips");
}

}  // namespace hocket::detail
