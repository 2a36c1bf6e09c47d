// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <chrono>
#include <cstddef>
#include <hocket/detail/block_pool.hpp>
#include <hocket/group/request.hpp>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "exposure.hpp"
#include "remote_call.hpp"

namespace hocket::matching {
class meeting;
}

namespace hocket::host {

class host_hub;
class exchange;

/// Those of one group that are under way.
class exchange_list {
 public:
  void add(exchange& e) noexcept;
  void remove(exchange& e) noexcept;
  void abort_all(detail::failure const& why) noexcept;
  void report(std::vector<std::string>& lines);
  /// What a call that moves waits for; empty if it does not move.
  [[nodiscard]] std::string waits_of(request const& r);

 private:
  std::mutex mutex_;
  detail::failure ended_;  // set: what begins later ends so, too
  exchange* first_ = nullptr;
};

/// Fetches what other processes give to calls of this rank, and says when it is there. Deletes
/// itself.
class exchange : public detail::pooled {
 public:
  virtual ~exchange();
  /// Ends what it waits for with `why`, soon; it ends then.
  virtual void abort(detail::failure const& why) noexcept;
  /// "bytes of rank 1, rank 2 to take its part": by ranks of the world.
  [[nodiscard]] virtual std::string waits_for();
  /// The call, since when it moves, and what it waits for.
  [[nodiscard]] std::string describe();
  exchange(exchange const&) = delete;
  exchange& operator=(exchange const&) = delete;

 protected:
  explicit exchange(std::shared_ptr<host_hub> at);
  /// All that `from` gives, to where `own` wants it. `from` must live until `finished`.
  void fetch_from(remote_call& from, request& own) noexcept;
  /// Throws `errc::peer_lost`, and gives the member up, unless `from` gives one tensor of so many
  /// elements: what no member says whose call agrees with this rank's.
  void require_gift(remote_call const& from, dtype type, std::int64_t count) const;
  /// It will end with this failure, if with no earlier one.
  void fail(detail::failure f) noexcept;
  /// Waits until nobody needs the buffers of the call any more.
  void drain(request& own);
  /// Everything has been asked for.
  void close();
  /// The call of this rank that it serves.
  [[nodiscard]] virtual request const& own_call() const noexcept = 0;
  /// Everything has come, or something has failed.
  virtual void finished(detail::failure const& f) noexcept = 0;

  std::shared_ptr<host_hub> const hub_;

 private:
  // What comes from one giver.
  class delivery final : public arrival, public detail::pooled {
   public:
    delivery(exchange& to, remote_call& from) : to_(to), from_(from) {}
    void came(detail::failure const& f) noexcept override;
    std::size_t left = 1;
    detail::failure why;
    [[nodiscard]] int giver() const noexcept { return from_.world_rank; }

   private:
    exchange& to_;
    remote_call& from_;
  };
  class drained final : public arrival {
   public:
    explicit drained(exchange& e) : to_(e) {}
    void came(detail::failure const& f) noexcept override { to_.arrive(f); }

   private:
    exchange& to_;
  };
  void fetch_all(remote_call& from, request& own);
  void arrive(detail::failure const& f) noexcept;

  std::mutex mutex_;
  int left_ = 1;
  detail::failure failure_;
  detail::failure aborted_;
  std::uint64_t exposure_ = 0;  // what it waits for others to fetch
  std::chrono::steady_clock::time_point const since_ = std::chrono::steady_clock::now();
  std::vector<std::unique_ptr<delivery>> deliveries_;
  drained drained_{*this};
  friend class exchange_list;
  exchange* before_ = nullptr;  // in the hub's list
  exchange* after_ = nullptr;
};

/// One rank's part of a collective.
void carry_collective(std::shared_ptr<host_hub> at, matching::meeting& m) noexcept;
/// A message from another process.
void carry_message(std::shared_ptr<host_hub> at, request& send, request& recv) noexcept;

}  // namespace hocket::host
