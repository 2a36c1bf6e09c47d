// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/async/op_options.hpp>
#include <hocket/group/member.hpp>
#include <hocket/tensor/tensor.hpp>
#include <optional>
#include <source_location>
#include <utility>
#include <vector>

namespace hocket {

/// Sends and receives that `process_group::run` starts together: any number, in any mix and order,
/// in both directions. They are matched like single calls, so the peer need not use a batch.
class batch {
 public:
  batch() = default;

  /// Point to point, as `process_group::send`. Nothing starts before `run`.
  batch& send(tensor t, member to, op_options const& options = {},
              std::source_location site = std::source_location::current()) {
    entries_.emplace_back(true, std::move(t), source(to), options, site);
    return *this;
  }
  /// Into `out`.
  batch& recv(tensor out, source from, op_options const& options = {},
              std::source_location site = std::source_location::current()) {
    entries_.emplace_back(false, std::move(out), from, options, site);
    return *this;
  }
  /// Dtype and shape travel with the message.
  batch& recv(source from, op_options const& options = {},
              std::source_location site = std::source_location::current()) {
    entries_.emplace_back(false, std::nullopt, from, options, site);
    return *this;
  }

  /// Sends and receives so far.
  [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

 private:
  friend class process_group;
  struct entry {
    entry(bool s, std::optional<tensor> t, source p, op_options const& o, std::source_location at)
        : sends(s), buffer(std::move(t)), peer(p), options(o), site(at) {}
    bool sends;
    std::optional<tensor> buffer;
    source peer;
    op_options options;
    std::source_location site;
  };
  std::vector<entry> entries_;
};

}  // namespace hocket
