// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <exception>
#include <hocket/error.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/in_link.hpp"
#include "engine/host/out_link.hpp"

namespace hocket::host::test {

inline identity identity_of(int rank, int size = 3, std::string job = "job") {
  identity me;
  me.job = std::move(job);
  me.epoch = 7;
  me.rank = rank;
  me.size = size;
  for (std::size_t i = 0; i < me.secret.size(); ++i)
    me.secret[i] = static_cast<std::byte>(3 * i + 1);
  return me;
}

inline std::string bytes_of(frame_head const& head, std::string_view extra = {},
                            std::string_view payload = {}) {
  std::string all(reinterpret_cast<char const*>(&head), sizeof head);
  return all.append(extra).append(payload);
}

inline std::string bytes_of(letter const& l) {
  return bytes_of(l.head, {reinterpret_cast<char const*>(l.body.data()), l.body.size()});
}

/// A head that says how long its body is.
inline frame_head head_of(frame_kind kind, std::size_t extra = 0, std::size_t payload = 0) {
  frame_head h;
  h.kind = kind;
  h.extra_bytes = static_cast<std::uint32_t>(extra);
  h.payload_bytes = static_cast<std::uint32_t>(payload);
  return h;
}

/// Hands bytes to a stream as a socket would, at most `piece` at a time. False: it takes no more.
inline bool feed(io::byte_stream& to, std::string_view bytes, std::size_t piece = SIZE_MAX) {
  while (!bytes.empty()) {
    auto const pieces = to.to_read();
    auto left = bytes.substr(0, piece);
    std::size_t taken = 0;
    for (iovec const& p : pieces) {
      auto const n = std::min(left.size(), p.iov_len);
      if (n > 0) std::memcpy(p.iov_base, left.data(), n);
      left.remove_prefix(n);
      taken += n;
    }
    if (taken == 0) return false;
    to.read(taken);
    bytes.remove_prefix(taken);
  }
  return true;
}

/// What a stream says, as a socket would take it.
inline std::string said_by(io::byte_stream& from, std::size_t piece = SIZE_MAX) {
  std::string all;
  for (;;) {
    std::string taken;
    for (iovec const& p : from.to_write()) {
      auto const n = std::min(p.iov_len, piece - taken.size());
      taken.append(static_cast<char const*>(p.iov_base), n);
    }
    if (taken.empty()) return all;
    all += taken;
    from.written(taken.size());
  }
}

/// Writes down what a link hands on.
class recorder final : public frame_sink {
 public:
  void speaks(in_link&) override {}
  void greeted(in_link& from) override { greeted_by = from.peer(); }
  void arrived(in_link&, frame_head const& head, std::span<std::byte const> extra,
               std::span<std::byte const> payload) override {
    auto const text = [](std::span<std::byte const> b) {
      return std::string(reinterpret_cast<char const*>(b.data()), b.size());
    };
    events.push_back(std::string(name_of(head.kind)) + " " + text(extra) + "|" + text(payload));
  }
  std::byte* landing(in_link&, frame_head const& head) override {
    auto const at = landings.find(head.tag);
    if (at == landings.end()) throw error(errc::corrupt, "nobody has asked for this");
    if (at->second == nullptr) return nullptr;
    return reinterpret_cast<std::byte*>(at->second->data()) + head.address;
  }
  void landed(in_link&, frame_head const& head) override {
    events.push_back("data " + std::to_string(head.tag) + " " + std::to_string(head.payload_bytes));
  }
  void ended(in_link&, std::string const& why) override { endings.push_back(why); }

  int greeted_by = -1;
  std::vector<std::string> events, endings;
  std::map<std::uint64_t, std::string*> landings;  // null: not wanted any more
};

/// A link whose caller has proved that it is rank 1.
struct greeted_link {
  explicit greeted_link(std::size_t piece = SIZE_MAX) {
    caller_greeting caller(other, 0);
    std::string out;
    feed(link, caller.hello(), piece);
    caller.receive(said_by(link), out);
    feed(link, out, piece);
    caller.receive(said_by(link), out);
    is_right = caller.is_done();
  }
  identity const me = identity_of(0), other = identity_of(1);
  recorder sink;
  in_link link{sink, me};
  bool is_right = false;
};

}  // namespace hocket::host::test
