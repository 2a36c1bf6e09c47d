// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/runtime.hpp>
#include <hocket/detail/block_pool.hpp>
#include <hocket/group/engine.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace hocket::local {

class gathering;

/// Something matched, whose bytes are to be moved. Ends by deleting itself.
class job {
 public:
  virtual ~job() = default;
  virtual void run() noexcept = 0;
  job* next = nullptr;
};

/// What the ranks of one world in this process share: the groups that are being joined, and the
/// queue of large moves that the runtime's progress thread carries out.
class fabric final : public progress_source, public std::enable_shared_from_this<fabric> {
 public:
  explicit fabric(runtime_handle rt);
  ~fabric() override;

  /// Runs the job here if it is small or nobody else would; else leaves it to the progress thread.
  void carry_out(job* j, std::size_t bytes);
  bool progress() noexcept override;

  /// Done when all members have joined the group.
  work<std::shared_ptr<endpoint>> join(group_spec const& spec, detail::port_ptr home,
                                       std::source_location site);
  /// The members have all joined, or one gave up: the next join of the name begins anew.
  void forget(gathering const* g);

 private:
  // Copies that take less time than waking the progress thread does.
  static constexpr std::size_t inline_bytes_max = 128 * 1024;

  runtime_handle const runtime_;
  std::mutex jobs_mutex_;
  job* first_job_ = nullptr;
  job** last_job_ = &first_job_;
  std::mutex joins_mutex_;
  std::map<std::string, std::shared_ptr<gathering>> joining_;
};

}  // namespace hocket::local
