// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <algorithm>
#include <cstddef>
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

/// The buffers of one call that other processes may fetch from until each of them has said that it
/// needs them no more. All calls under the fabric's lock.
class exposure {
 public:
  void add(int taker, std::vector<tensor> items) { lots_.push_back({taker, std::move(items)}); }

  /// The bytes of one item as the taker may have them; empty: it may not.
  [[nodiscard]] std::span<std::byte const> bytes_for(int taker, std::size_t item) const {
    for (auto const& l : lots_)
      if (l.taker == taker && item < l.items.size())
        return {l.items[item].const_bytes(), l.items[item].nbytes()};
    return {};
  }
  /// The taker needs nothing more.
  void release(int taker) {
    std::erase_if(lots_, [taker](lot const& l) { return l.taker == taker; });
  }
  [[nodiscard]] std::vector<int> takers() const {
    std::vector<int> all;
    for (auto const& l : lots_) all.push_back(l.taker);
    return all;
  }
  [[nodiscard]] bool is_drained() const noexcept { return lots_.empty(); }

  arrival* then = nullptr;  ///< hears when it is drained
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
