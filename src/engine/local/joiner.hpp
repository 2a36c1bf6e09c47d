// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <hocket/async/detail/op_base.hpp>
#include <hocket/async/work.hpp>
#include <hocket/group/engine.hpp>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <vector>

#include "engine/matching/roster.hpp"
#include "fabric.hpp"

namespace hocket::local {

/// The groups of one world that are being made. Any thread may call.
///
/// The n-th call of each member for one name and epoch meet. A making that fails (a wrong list, a
/// member that gave up or is gone) stays until all its members have come and been told.
class joiner : public std::enable_shared_from_this<joiner> {
 public:
  joiner(std::shared_ptr<fabric> f, int world_size);
  ~joiner();

  /// Done when all members have joined the group.
  work<std::shared_ptr<endpoint>> join(group_spec const& spec, detail::port_ptr home,
                                       std::source_location site);
  /// A rank of the world will join nothing more.
  void leave(int world_rank, errc code, std::string const& reason);

 private:
  class joining;
  using handle = boost::intrusive_ptr<joining>;
  struct making;
  using makings = std::list<making>;  // of one name, the oldest first
  struct outcome;

  void enter(makings& all, handle const& op, group_spec const& spec, outcome& o);
  making& making_for(makings& all, group_spec const& spec, int me);
  void give_up(joining& op);
  std::string missing(joining const& op);
  [[nodiscard]] std::string elsewhere(int member) const;
  void fail(making& m, errc code, std::string why, outcome& o);
  void erase_if_over(makings& all, making& m);

  std::shared_ptr<fabric> const fabric_;
  std::mutex mutex_;
  std::map<std::string, makings> open_;
  std::vector<std::optional<departure>> gone_;  // by world rank
};

}  // namespace hocket::local
