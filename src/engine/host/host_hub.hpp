// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <exception>
#include <hocket/group/engine.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "engine/matching/carrier.hpp"
#include "engine/matching/hub.hpp"
#include "exchange.hpp"
#include "fabric.hpp"
#include "remote_call.hpp"

namespace hocket::host {

/// This process's replica of one group: its rank's calls, and those that the other members have
/// announced, meet here as they do in every member's process. Any thread may call.
class host_hub final : public matching::hub, public mailbox {
 public:
  host_hub(std::shared_ptr<fabric> f, group_spec const& spec, std::uint64_t id);
  ~host_hub() override;

  [[nodiscard]] fabric& net() const noexcept { return *fabric_; }
  /// This rank's place in the group.
  [[nodiscard]] int place() const noexcept { return spec_.rank.value(); }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  [[nodiscard]] int world_rank_of(int place) const {
    return spec_.members[group_rank(place)].value();
  }

  /// A call of this rank.
  void call(request& r) noexcept;
  void close_own_channel(std::uint64_t channel) noexcept;
  void revoke_all(std::string const& reason) noexcept;
  /// The waits of a call of this rank were ended.
  void withdraw_own(request& r) noexcept;
  /// This rank's way into the group that goes on.
  [[nodiscard]] work<membership> rebuild(clock::duration deadline, detail::port_ptr home,
                                         std::source_location site);
  void leave(int rank, errc code, std::string const& reason) noexcept override;
  void leave_own(errc code, std::string const& reason) noexcept;

  // -- for exchanges
  [[nodiscard]] exchange_list& exchanges() noexcept { return exchanges_; }
  /// Everything that the call gives has been fetched, or will not be.
  void release_gift(remote_call& from) noexcept;
  /// This rank reads no more of a member's exposure.
  void release(int world_rank, std::uint64_t exposure);
  /// The same, of an exposure whose owner waits for this rank's note.
  void tell_ready(int world_rank, std::uint64_t exposure, note const& what);
  [[nodiscard]] int place_of(int world_rank) const { return place_of_world(world_rank); }
  /// A message from another process has ended here: its sender is told.
  void message_ended(request& send, detail::failure const& f) noexcept;
  void buffers_ready(request& r, std::exception_ptr const& e) noexcept override;

  // -- mailbox
  void receive(int from, frame_head const& head, std::span<std::byte const> extra,
               std::span<std::byte const> payload) override;
  void lost(int world_rank, std::string const& why) override;
  void world_ends(std::string const& why) override { leave_own(errc::group_closed, why); }
  void world_ended(std::string const& why) override {
    end_all(errc::group_closed, why);
    end_sends(-1);
  }
  void report(std::vector<std::string>& lines) override;

  // -- for succession
  [[nodiscard]] group_spec const& spec() const noexcept { return spec_; }
  [[nodiscard]] std::optional<errc> departure_of(int place);
  void note_rebuilt() noexcept;
  [[nodiscard]] std::string name_of_member(int place);

 private:
  class carrier;
  class waits_for_takers;
  class send_mark;
  struct offer;

  void announce(request& r, bool is_marked) noexcept;
  void tell_members(request& r, bool is_marked);
  void send(request& r);
  void take_mark(int place, frame_head const& head, std::span<std::byte const> extra,
                 std::span<std::byte const> payload);
  [[nodiscard]] offer make_offer(request& r) const;
  std::exception_ptr say_mark(request& r, std::uint64_t handle, std::exception_ptr e) noexcept;
  [[nodiscard]] std::uint64_t next_handle();
  void take_call(int place, frame_head const& head, std::span<std::byte const> extra,
                 std::span<std::byte const> payload);
  void take_outcome(int place, frame_head const& head, std::span<std::byte const> extra);
  void hide(request& r) noexcept;
  void take_revoke(int place, std::string const& reason) noexcept;
  void end_sends(int to) noexcept;
  [[nodiscard]] int place_of_world(int world_rank) const;
  void post_to_all(letter const& l);
  void end_own(request& r, detail::failure why) noexcept;

  std::shared_ptr<fabric> const fabric_;
  std::uint64_t const id_;
  std::mutex sends_mutex_;
  std::unordered_map<std::uint64_t, request*> sends_;  // by the handle their receiver answers with
  std::uint64_t next_send_ = 1;
  // Held while a marked call says what it gives: it does not end in the meantime.
  std::mutex marks_mutex_;
  std::unordered_map<request const*, std::uint64_t> own_marked_;  // collectives, and their handles
  // Calls of others whose marks have not come.
  std::map<std::pair<int, std::uint64_t>, boost::intrusive_ptr<remote_call>> marked_;
  exchange_list exchanges_;
  std::weak_ptr<class succession> succession_;  // while this rank rebuilds; both under mutex_
  bool has_rebuilt_ = false;
  std::atomic<bool> has_told_revoke_{false};
};

}  // namespace hocket::host
