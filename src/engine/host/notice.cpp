// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "notice.hpp"

#include <algorithm>

namespace hocket::host {

letter notice(frame_kind kind, std::uint64_t group, int rank, std::string_view text) {
  letter l;
  l.head.kind = kind;
  l.head.group = group;
  l.head.rank = rank;
  auto const bytes = std::as_bytes(std::span(text.data(), std::min(text.size(), extra_bytes_max)));
  l.body.assign(bytes.begin(), bytes.end());
  l.head.extra_bytes = static_cast<std::uint32_t>(l.body.size());
  return l;
}

std::string text_of(std::span<std::byte const> bytes) {
  return {reinterpret_cast<char const*>(bytes.data()), bytes.size()};
}

letter fetched(std::uint64_t exposure) {
  letter l;
  l.head.kind = frame_kind::fetched;
  l.head.address = exposure;
  return l;
}

}  // namespace hocket::host
