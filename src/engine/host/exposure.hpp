// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <hocket/async/detail/op_base.hpp>
#include <hocket/tensor/tensor.hpp>
#include <span>
#include <utility>
#include <vector>

namespace hocket::host {

/// Hears, under no lock, that something it waits for has come, or why it will not.
class arrival {
 public:
  virtual void came(detail::failure const& f) noexcept = 0;

 protected:
  ~arrival() = default;
};

/// What a taker says once it reads a call's buffers no more.
struct note {
  std::uint64_t exposure = 0;  ///< what can be fetched from it in turn; 0: nothing
  std::uint64_t address = 0;   ///< where that lies in its memory
  std::uint32_t seal = 0;      ///< its seal then
  detail::failure why;         ///< set: there will be nothing
};

/// Hears each taker's note, under no lock, on the thread that drives the fabric.
class note_listener {
 public:
  virtual void noted(int from, note const& what) noexcept = 0;

 protected:
  ~note_listener() = default;
};

/// The buffers of one call that other processes may fetch from until each of them has said that it
/// needs them no more. All calls under the fabric's lock.
class exposure {
 public:
  void add(int taker, std::vector<tensor> items) { lots_.push_back({taker, std::move(items)}); }

  /// One item as the taker may have it; undefined: it may not.
  [[nodiscard]] tensor item_for(int taker, std::size_t item) const {
    for (auto const& l : lots_)
      if (l.taker == taker && item < l.items.size()) return l.items[item];
    return {};
  }
  /// The taker needs nothing more. False: it needed nothing.
  bool release(int taker) {
    return std::erase_if(lots_, [taker](lot const& l) { return l.taker == taker; }) > 0;
  }
  [[nodiscard]] std::vector<int> takers() const {
    std::vector<int> all;
    for (auto const& l : lots_) all.push_back(l.taker);
    return all;
  }
  [[nodiscard]] bool is_drained() const noexcept { return lots_.empty(); }

  /// Whether somebody will listen to what its takers say.
  bool has_notes = false;
  note_listener* listener = nullptr;        ///< once it listens
  std::vector<std::pair<int, note>> notes;  ///< until then
  arrival* then = nullptr;                  ///< hears when it is drained
  /// What a taker found wrong with what it was given.
  detail::failure complaint;

 private:
  struct lot {
    int taker;
    std::vector<tensor> items;
  };
  std::vector<lot> lots_;
};

}  // namespace hocket::host
