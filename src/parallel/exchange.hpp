// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstddef>
#include <hocket/async/op_options.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/tensor/tensor.hpp>
#include <source_location>
#include <vector>

namespace hocket::detail {

/// Point-to-point transfers between the ranks of a group that all know which there are: of any
/// sizes, with bounded bytes under way, without deadlock.
///
/// Large ones go in chunks. Every rank takes them in the order of (distance round the group, chunk)
/// and has at most `flying_max` bytes under way: the earliest one that is not done is posted, or
/// can be, at both its ends, so one always moves.
class exchange {
 public:
  /// One message of a chunk at most; two of them fit into `flying_max`.
  static constexpr std::size_t chunk_bytes_max = std::size_t{32} << 20;
  /// Half of what a channel accepts by default.
  static constexpr std::size_t flying_max = std::size_t{128} << 20;

  /// `tag` must not be used by anything else that is under way in the group.
  exchange(process_group g, op_options o, std::uint64_t tag, std::source_location site);

  /// Between the same two ranks, sends and receives are added in the same order.
  void send(tensor const& t, world_rank to);
  void recv(tensor const& t, world_rank from);
  [[nodiscard]] std::size_t bytes_received() const noexcept { return bytes_received_; }

  /// Done when all are. The first failure is rethrown after those under way have ended.
  [[nodiscard]] boost::asio::awaitable<void> run();

 private:
  class message {
   public:
    message(int d, std::size_t c, bool s, group_rank p, tensor b)
        : distance(d), chunk(c), sends(s), peer(p), buffer(std::move(b)) {}
    int distance;
    std::size_t chunk;
    bool sends;
    group_rank peer;
    tensor buffer;
  };
  void add(tensor const& t, world_rank peer, bool sends);
  [[nodiscard]] work<> start(message const& m);

  process_group group_;
  op_options options_;
  std::source_location site_;
  std::vector<message> messages_;
  std::vector<std::size_t> chunks_to_;    // so far, by group rank
  std::vector<std::size_t> chunks_from_;  // so far, by group rank
  std::size_t bytes_received_ = 0;
};

}  // namespace hocket::detail
