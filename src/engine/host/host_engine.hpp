// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <functional>
#include <hocket/group/engine.hpp>
#include <hocket/group/store.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fabric.hpp"
#include "peer_place.hpp"

namespace hocket::host {

/// The engine of a rank that has a process of its own.
class host_engine final : public engine, public std::enable_shared_from_this<host_engine> {
 public:
  /// Listens at once; peers are called when they are needed.
  host_engine(runtime_handle rt, identity me, std::vector<io::address> const& listen_at,
              std::string const& host);
  ~host_engine() override;

  /// How others reach this process; told before `start`.
  [[nodiscard]] peer_place place() const { return fabric_->place(); }
  /// This rank's end of the group of all, which needs no word of the others: told before `start`.
  [[nodiscard]] std::shared_ptr<endpoint> admit(group_spec const& spec);
  /// `where` all ranks are; `meeting_place`: where the members of groups agree on going on without
  /// lost ones.
  void start(std::vector<peer_place> where, std::weak_ptr<store> meeting_place = {});
  /// The rank's process has ended, as somebody else has seen.
  void peer_died(int rank, std::string const& why) { fabric_->lose(rank, why); }
  /// What lives as long as this engine does.
  void keep(std::shared_ptr<void> what) { kept_.push_back(std::move(what)); }

  std::string_view name() const noexcept override { return "host"; }
  work<std::shared_ptr<endpoint>> join(group_spec spec, detail::port_ptr home,
                                       std::source_location site) override;

 private:
  std::shared_ptr<fabric> const fabric_;
  std::shared_ptr<class host_joiner> const joiner_;
  std::vector<std::shared_ptr<void>> kept_;
};

/// A text that is equal for processes that run on one kernel and see one another's process ids.
[[nodiscard]] std::string name_of_this_host();

}  // namespace hocket::host
