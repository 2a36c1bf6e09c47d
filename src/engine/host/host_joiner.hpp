// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstdint>
#include <hocket/async/detail/op_state.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/engine.hpp>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <unordered_map>
#include <vector>

#include "fabric.hpp"

namespace hocket::host {

class host_hub;

/// The groups that this rank is about to join, and what other ranks have said about groups that it
/// may join later. Any thread may call.
///
/// The n-th joining of a name and epoch on every member is one group. Each member tells all others;
/// it is in when all have told it. One that cannot go on tells the others why.
/// A group that goes on after a `parent` counts by that one, not by its name.
class host_joiner final : public mailbox, public std::enable_shared_from_this<host_joiner> {
 public:
  explicit host_joiner(std::shared_ptr<fabric> f);
  ~host_joiner() override;

  /// Into a group whose members need not be asked, before they can call. `engine` lives as long as
  /// a handle of the group does, here and below.
  [[nodiscard]] std::shared_ptr<endpoint> admit(group_spec const& spec, std::weak_ptr<void> engine);
  work<std::shared_ptr<endpoint>> join(group_spec const& spec, detail::port_ptr home,
                                       std::source_location site, std::weak_ptr<void> engine,
                                       std::uint64_t parent = 0);
  void receive(int from, frame_head const& head, std::span<std::byte const> extra,
               std::span<std::byte const> payload) override;
  void lost(int world_rank, std::string const& why) override;
  void world_ends(std::string const& why) override;
  void world_ended(std::string const&) override {}
  void report(std::vector<std::string>& lines) override;

 private:
  class joining;
  using handle = boost::intrusive_ptr<joining>;
  struct making;
  struct outcome;

  void judge(std::uint64_t id, making& m, outcome& o);
  void fail(making& m, errc code, std::string why, bool tell_others, std::uint64_t id, outcome& o);
  void give_up(joining& op);
  std::string missing(joining const& op);
  std::string missing_of(making const& m);

  std::shared_ptr<fabric> const fabric_;
  std::mutex mutex_;
  std::unordered_map<std::string, std::uint64_t> joined_;  // how often each name was
  std::map<std::uint64_t, making> open_;
  std::unordered_map<int, std::string> lost_;
};

}  // namespace hocket::host
