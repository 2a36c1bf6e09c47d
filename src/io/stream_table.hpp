// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/intrusive/list.hpp>
#include <functional>
#include <hocket/detail/assert.hpp>
#include <list>
#include <unordered_map>

#include "io/poller.hpp"

namespace hocket::io {

/// What a poller knows of one stream; each kind of poller adds its own.
struct stream_record
    : boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {
  stream_record(unique_fd socket, byte_stream& s) : fd(std::move(socket)), stream(&s) {}

  unique_fd fd;
  byte_stream* stream;
  int in_flight = 0;     ///< operations the kernel works on
  bool retired = false;  ///< out of the index: its stream is called no more
  std::function<void()> gone;
};

/// The streams of one poller: found by their address, queued when they have something to do, and
/// kept after their end until nothing refers to the record any more.
template <class Record>
class stream_table {
 public:
  Record& insert(unique_fd socket, byte_stream& s) {
    std::list<Record> made;
    made.emplace_back(std::move(socket), s);
    [[maybe_unused]] bool const is_new = index_.emplace(&s, made.begin()).second;
    HOCKET_ASSERT(is_new);
    records_.splice(records_.end(), made);
    return records_.back();
  }
  Record* find(byte_stream const& s) noexcept {
    auto const found = index_.find(&s);
    return found == index_.end() ? nullptr : &*found->second;
  }

  void queue(Record& r) noexcept {
    if (!r.is_linked()) queue_.push_back(r);
  }
  /// Takes the next one out of the queue, null if there is none.
  Record* pop() noexcept {
    if (queue_.empty()) return nullptr;
    auto& first = static_cast<Record&>(queue_.front());
    queue_.pop_front();
    return &first;
  }
  bool has_queued() const noexcept { return !queue_.empty(); }

  /// Out of the index and the queue; the record stays until `bury`.
  void retire(Record& r) noexcept {
    auto const found = index_.find(r.stream);
    HOCKET_ASSERT(found != index_.end() && !r.retired);
    r.retired = true;
    r.unlink();
    retired_.splice(retired_.end(), records_, found->second);
    index_.erase(found);
  }
  /// Destroys the retired records that the kernel has let go of and tells their owners.
  void bury() noexcept {
    std::list<Record> idle;
    for (auto r = retired_.begin(); r != retired_.end();) {
      auto const here = r++;
      if (here->in_flight == 0) idle.splice(idle.end(), retired_, here);
    }
    while (!idle.empty()) {
      auto const gone = std::move(idle.front().gone);
      idle.pop_front();
      if (gone) gone();
    }
  }

  std::list<Record>& records() noexcept { return records_; }
  std::list<Record>& retired() noexcept { return retired_; }

 private:
  using queue_type =
      boost::intrusive::list<stream_record, boost::intrusive::constant_time_size<false>>;

  std::list<Record> records_, retired_;
  std::unordered_map<byte_stream const*, typename std::list<Record>::iterator> index_;
  queue_type queue_;
};

}  // namespace hocket::io
