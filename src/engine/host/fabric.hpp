// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <hocket/async/runtime.hpp>
#include <hocket/log.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "exposure.hpp"
#include "greeting.hpp"
#include "in_link.hpp"
#include "inbox.hpp"
#include "io/listener.hpp"
#include "io/poller.hpp"
#include "out_link.hpp"
#include "peer.hpp"
#include "peer_place.hpp"
#include "status_watch.hpp"
#include "succession_tools.hpp"

namespace hocket::host {

/// Where frames and news of one group go. Called under no lock, by one thread at a time.
class mailbox {
 public:
  virtual ~mailbox() = default;
  virtual void receive(int from, frame_head const& head, std::span<std::byte const> extra,
                       std::span<std::byte const> payload) = 0;
  virtual void lost(int world_rank, std::string const& why) = 0;
  /// The world of this process is about to be left: the others are told, and what waits for them
  /// ends with `errc::group_closed`. What moves goes on for a while.
  virtual void world_ends(std::string const& why) = 0;
  /// Nothing moves any more.
  virtual void world_ended(std::string const& why) = 0;
  /// Adds a line for each wait that is pending.
  virtual void report(std::vector<std::string>& lines) { static_cast<void>(lines); }
};

/// Bytes of a peer's exposed buffer that this process wants.
struct wanted {
  int peer = -1;
  std::uint64_t exposure = 0;
  std::uint32_t item = 0;
  std::uint64_t offset = 0;   ///< of the first byte, in the item
  std::uint64_t address = 0;  ///< in the peer's memory
  std::uint32_t seal = 0;     ///< the peer's when it announced the buffer
  std::byte* to = nullptr;
  std::size_t bytes = 0;
  arrival* then = nullptr;
};

/// Work that is done in turns by whoever drives the fabric.
class chore {
 public:
  /// A bounded turn; true: there is more. False: the fabric has forgotten it.
  virtual bool step() noexcept = 0;

 protected:
  ~chore() = default;
};

/// What those are told who need a peer that is gone.
[[nodiscard]] detail::failure lost_failure(int peer, std::string const& why);

/// What all groups of one process share: the connections to its peers, and what is under way on
/// them. Driven as a progress source. Any thread may call.
///
/// HOCKET_HOST_READ in the environment says how large payloads move between processes of one host:
/// `auto` (the default), out of the giver's memory where the system permits it; `off`, always over
/// the socket.
class fabric final : public progress_source,
                     public frame_sink,
                     public std::enable_shared_from_this<fabric> {
 public:
  fabric(runtime_handle rt, identity me, std::vector<io::address> const& listen_at,
         std::string host);
  ~fabric() override;
  /// Begins to answer peers, and to call them when they are needed: `where` they are, by rank.
  void start(std::vector<peer_place> where, std::shared_ptr<mailbox> strangers);
  /// Sends what is queued, for at most `limit`, and closes all connections.
  /// What is still under way then ends with `errc::group_closed`.
  void stop(clock::duration limit) noexcept;

  /// For rebuilding groups; set before `start`.
  void set_heirs(succession_tools t) { heirs_ = std::move(t); }
  [[nodiscard]] succession_tools const& heirs() const noexcept { return heirs_; }

  [[nodiscard]] identity const& me() const noexcept { return me_; }
  [[nodiscard]] runtime_handle const& rt() const noexcept { return runtime_; }
  /// How peers reach this process.
  [[nodiscard]] peer_place place() const;

  void post(int peer, letter l);
  /// Ends with `want.then->came`, perhaps before it returns.
  void fetch(wanted const& want) noexcept;
  /// Whether the peer's memory can be read, as far as is known.
  [[nodiscard]] bool can_read(int peer);
  /// Reads it at once; false: it cannot be read, or is not what was announced under that seal any
  /// more. Then `fetch` tells.
  [[nodiscard]] bool read_now(int peer, std::uint64_t address, std::uint32_t seal, std::byte* to,
                              std::size_t bytes) noexcept;
  void take_up(chore& c) noexcept;
  /// Offers buffers; 0 if there are none.
  [[nodiscard]] std::uint64_t expose(std::unique_ptr<exposure> e);
  /// True if nobody needs the buffers any more, with a taker's complaint in `f`; else `then` hears.
  [[nodiscard]] bool is_drained(std::uint64_t id, arrival& then, detail::failure& f);
  /// Ends the transfers to `then` that are under way: each tells it `why`, later.
  void cancel(arrival& then, detail::failure const& why) noexcept;
  /// Takes the buffers back from those who may still be reading: what they read is not believed.
  /// Who waits in `is_drained` hears `why`.
  void recall(std::uint64_t id, detail::failure const& why) noexcept;
  /// Who still needs the buffers, by ranks of the world.
  [[nodiscard]] std::vector<int> takers_of(std::uint64_t exposure);
  /// How far the connections to a peer have come, for messages.
  [[nodiscard]] std::string stage_of(int rank);
  /// True in a child that was forked after this object was made: it may touch nothing here.
  [[nodiscard]] bool is_in_child() const noexcept;
  /// Logs what all groups wait for.
  void report(log_level level) noexcept;

  /// The buffers of an exposure are offered to nobody any more.
  void conceal(std::uint64_t id);
  /// All notes of takers go to `l` from now on, those that have come already, too. The exposure
  /// must have been offered with `has_notes`. False: it has been recalled.
  [[nodiscard]] bool listen(std::uint64_t id, note_listener& l);

  void enlist(std::uint64_t group, std::shared_ptr<mailbox> at);
  void delist(std::uint64_t group) noexcept;
  /// The peer's process is gone.
  void lose(int peer, std::string const& why);

  bool progress() noexcept override;
  [[nodiscard]] int wake_fd() const noexcept override { return poller_->wake_fd(); }

 private:
  struct target {
    int peer;
    std::byte* to;
    std::size_t left;
    arrival* then;
    detail::failure cancelled;  // while bytes are on their way to it
  };
  struct reading {  // out of a peer's memory, in pieces
    wanted what;
    std::size_t done = 0;
    detail::failure cancelled;
  };

  // frame_sink, under the lock
  void arrived(in_link& from, frame_head const& head, std::span<std::byte const> extra,
               std::span<std::byte const> payload) override;
  std::byte* landing(in_link& from, frame_head const& head) override;
  void landed(in_link& from, frame_head const& head) override;
  void ended(in_link& from, std::string const& why) override;
  void speaks(in_link& from) override { poller_->kick(from); }
  void greeted(in_link& from) override;

  static void link_ended(out_link& link, boost::system::error_code why) noexcept;
  void accepted(io::unique_fd socket);
  void connected(peer& p, boost::system::error_code why, io::unique_fd socket);

  void speak(peer& p);
  void drop(in_link& from);
  [[nodiscard]] bool is_calling(int rank) const;
  void fail_landings(int rank);
  peer& peer_at(int rank);
  void dial(peer& p);
  void try_next_address(peer& p, std::string const& why);
  void lose_locked(int rank, std::string const& why);
  void serve(int peer, frame_head const& head);
  void end_waits(detail::failure const& why);
  void cancel_locked(arrival* then, detail::failure const& why);
  void tell(arrival* then, detail::failure const& why);
  void suspect(int rank, std::string const& why);
  bool settle_doubts();
  bool say_farewell() noexcept;
  bool handle_what_came() noexcept;
  [[nodiscard]] bool is_busy() const;
  bool deliver() noexcept;
  void drop_silent_strangers();
  void release_locked(std::uint64_t id, int taker, detail::failure complaint);
  void stop_sending(std::uint64_t id, int taker);
  void take_note(std::uint64_t id, int taker, note n);
  void decline(int taker, note const& n);
  void decline_notes(exposure& e);
  void end_notes(std::uint64_t id, detail::failure const& why);
  bool do_chore() noexcept;
  void push(wanted const& want);
  bool read_some(reading& r) noexcept;
  void read_failed(reading const& r, boost::system::error_code why);
  void handle(received& what) noexcept;

  identity const me_;
  runtime_handle const runtime_;
  std::string const host_;
  bool const reads_memory_;
  std::mutex mutex_;
  std::unique_ptr<io::poller> poller_;
  std::vector<std::unique_ptr<io::listener>> listeners_;
  std::vector<peer_place> places_;  // by rank; none before the start
  succession_tools heirs_;
  std::shared_ptr<mailbox> strangers_;  // frames of groups that are being made
  std::unordered_map<int, std::unique_ptr<peer>> peers_;
  struct caller {
    std::unique_ptr<in_link> link;
    bool is_leaving = false;
    std::chrono::steady_clock::time_point since = std::chrono::steady_clock::now();
  };
  std::map<in_link*, caller> callers_;
  std::vector<std::unique_ptr<in_link>> dead_callers_;  // until no call is inside them
  std::unordered_map<int, std::string> lost_;
  struct doubt {
    std::string why;
    std::chrono::steady_clock::time_point since;
  };
  std::map<int, doubt> doubts_;  // peers whose connection from here has ended
  std::unordered_map<std::uint64_t, target> landings_;
  std::unordered_map<std::uint64_t, std::unique_ptr<exposure>> exposures_;
  std::unordered_map<std::uint64_t, std::shared_ptr<mailbox>> groups_;
  std::vector<reading> readings_;
  std::deque<chore*> chores_;
  reading* being_read_ = nullptr;
  std::unique_ptr<status_watch> status_;
  std::atomic<bool> report_asked_{false};
  std::uint64_t const forks_;
  inbox inbox_, handling_;
  std::uint64_t next_id_ = 1;
  bool leaving_ = false;
  bool stopping_ = false;
};

}  // namespace hocket::host
