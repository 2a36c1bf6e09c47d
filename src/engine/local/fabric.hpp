// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/async/runtime.hpp>
#include <memory>
#include <mutex>
#include <vector>

#include "engine/matching/carrier.hpp"
#include "engine/matching/decisions.hpp"
#include "engine/matching/roster.hpp"

namespace hocket::local {

/// Something matched, whose bytes are to be moved. Ends by deleting itself.
class job {
 public:
  virtual ~job() = default;
  virtual void run() noexcept = 0;
  job* next = nullptr;
};

class presence;

using matching::departure;
using matching::meeting;
using matching::own_copy;
using matching::roster;
using matching::what_of;

/// What all groups of one world in this process share: its ranks, and the queue of large moves that
/// the runtime's progress thread carries out.
class fabric final : public matching::carrier,
                     public progress_source,
                     public std::enable_shared_from_this<fabric> {
 public:
  fabric(runtime_handle rt, int world_size);
  ~fabric() override;

  void carry(matching::hub& at, meeting& m) noexcept override;
  void carry(matching::hub& at, request& send, request& recv) noexcept override;
  bool progress() noexcept override;
  [[nodiscard]] std::shared_ptr<presence> const& rank(int world_rank) const noexcept {
    return ranks_[static_cast<std::size_t>(world_rank)];
  }
  [[nodiscard]] runtime_handle const& rt() const noexcept override { return runtime_; }

 private:
  // Runs the job here if it is small or nobody else would; else leaves it to the progress thread.
  void carry_out(job& j, std::size_t bytes);

  // Copies that take less time than waking the progress thread does.
  static constexpr std::size_t inline_bytes_max = 128 * 1024;

  runtime_handle const runtime_;
  std::vector<std::shared_ptr<presence>> ranks_;
  std::mutex jobs_mutex_;
  job* first_job_ = nullptr;
  job** last_job_ = &first_job_;
};

}  // namespace hocket::local
