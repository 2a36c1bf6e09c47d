// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/group/engine.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "channel.hpp"
#include "fabric.hpp"

namespace hocket::local {

/// What was decided under the hub's lock and is done after it is released, because completing a
/// request may run code that calls the group again.
class decisions {
 public:
  void end(request& r, detail::failure why) { ended_.emplace_back(&r, std::move(why)); }
  void run(job* j, std::size_t bytes) {
    job_ = j;
    bytes_ = bytes;
  }
  void carry_out(fabric& f) noexcept {
    for (auto& [r, why] : ended_) r->complete(std::move(why));
    if (job_ != nullptr) f.carry_out(job_, bytes_);
  }

 private:
  std::vector<std::pair<request*, detail::failure>> ended_;
  job* job_ = nullptr;
  std::size_t bytes_ = 0;
};

/// One group of one world: where its members' requests meet. Any thread may call.
class hub final : public std::enable_shared_from_this<hub> {
 public:
  hub(std::shared_ptr<fabric> f, group_spec const& spec);

  [[nodiscard]] std::string const& label() const noexcept { return label_; }

  void submit(request& r) noexcept;
  void withdraw(request& r) noexcept;
  [[nodiscard]] std::string missing(request const& r);
  void close_channel(int rank, std::uint64_t id) noexcept;
  void revoke(int rank, std::string const& reason) noexcept;
  void leave(int rank, errc code, std::string const& reason) noexcept;
  /// The request's buffers may be touched from now on; or never, because of `e`.
  void buffers_ready(request& r, std::exception_ptr e) noexcept;
  /// A collective has been carried out.
  std::unique_ptr<meeting> retire(meeting& m) noexcept;

 private:
  channel& channel_at(std::uint64_t id);
  void meet(channel& c, request& r, decisions& d);
  void judge(channel& c, meeting& m, request const& r);
  void desynchronise(channel& c, meeting const& m, decisions& d);
  [[nodiscard]] bool meets_in_failure(channel& c, request const& r) const;
  void settle_meeting(channel& c, meeting& m, decisions& d);
  void post_send(channel& c, request& r, decisions& d);
  void post_recv(channel& c, request& r, decisions& d);
  void pair(request& send, request& recv, decisions& d);
  void run_pair(request& send, request& recv, decisions& d);
  void remove_member(channel& c, int rank, decisions& d);
  [[nodiscard]] departure const* departure_of(channel const& c, int rank) const;
  void watch_buffers(request& r);

  [[nodiscard]] std::string place(request const& r) const;
  [[nodiscard]] std::string name_rank(int rank) const;
  [[nodiscard]] detail::failure absent(int rank, departure const& why, request const& r) const;
  [[nodiscard]] detail::failure failed_peer(request const& r) const;

  std::shared_ptr<fabric> const fabric_;
  group_spec const spec_;
  int const size_;
  std::string const label_;
  std::mutex mutex_;
  std::map<std::uint64_t, channel> channels_;
  std::vector<std::optional<departure>> gone_;  // members that have left the group
  int gone_count_ = 0;
  std::string revoked_;  // why
};

}  // namespace hocket::local
