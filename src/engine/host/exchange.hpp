// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <cstddef>
#include <hocket/detail/block_pool.hpp>
#include <hocket/group/request.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "exposure.hpp"
#include "remote_call.hpp"

namespace hocket::matching {
class meeting;
}

namespace hocket::host {

class host_hub;

/// Fetches what other processes give to calls of this rank, and says when it is there. Deletes
/// itself.
class exchange : public detail::pooled {
 public:
  virtual ~exchange() = default;
  exchange(exchange const&) = delete;
  exchange& operator=(exchange const&) = delete;

 protected:
  explicit exchange(std::shared_ptr<host_hub> at);
  /// All that `from` gives, to where `own` wants it. `from` must live until `finished`.
  void fetch_from(remote_call& from, request& own) noexcept;
  /// It will end with this failure, if with no earlier one.
  void fail(detail::failure f) noexcept;
  /// Waits until nobody needs the buffers of the call any more.
  void drain(request& own);
  /// Everything has been asked for.
  void close() { arrive({}); }
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
  std::vector<std::unique_ptr<delivery>> deliveries_;
  drained drained_{*this};
};

/// One rank's part of a collective.
void carry_collective(std::shared_ptr<host_hub> at, matching::meeting& m) noexcept;
/// A message from another process.
void carry_message(std::shared_ptr<host_hub> at, request& send, request& recv) noexcept;

}  // namespace hocket::host
