// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <unordered_map>
#include <vector>

namespace hocket::rdzv {

/// Somebody who waits until keys are there. It is withdrawn before it dies.
class key_waiter {
 public:
  virtual ~key_waiter() = default;
  /// All keys have been there at some time since it was parked. Called by `settle` only.
  virtual void keys_came() noexcept = 0;

 private:
  friend class store_table;
  std::vector<std::string> keys_;  // those that were absent
  std::size_t missing_ = 0;
  bool is_parked_ = false;
  bool is_due_ = false;
};

/// The texts of a store, and who waits for them. Not for several threads.
class store_table {
 public:
  /// More than so many bytes of keys and values are refused with `errc::too_large`.
  explicit store_table(std::size_t bytes_max) noexcept : bytes_max_(bytes_max) {}
  store_table(store_table const&) = delete;
  store_table& operator=(store_table const&) = delete;

  void set(std::string const& key, std::string value);
  void append(std::string const& key, std::string const& value);
  /// Null if it is absent; valid until the next change.
  [[nodiscard]] std::string const* find(std::string const& key) const;
  [[nodiscard]] bool has_all(std::vector<std::string> const& keys) const;
  /// `errc::corrupt` if what is there is no number, or the sum is none of 64 bits.
  std::int64_t add(std::string const& key, std::int64_t amount);
  /// What the key holds afterwards; `expected` if it holds nothing.
  std::string compare_set(std::string const& key, std::string const& expected,
                          std::string const& desired);
  bool erase(std::string const& key);
  [[nodiscard]] std::size_t size() const noexcept { return values_.size(); }

  /// Pre: some of the keys are absent, and `w` is not parked.
  void park(key_waiter& w, std::vector<std::string> const& keys);
  void withdraw(key_waiter& w) noexcept;
  /// Tells the waiters whose keys have come, and those whose keys come by that.
  void settle() noexcept;

 private:
  void came(std::string const& key);
  void account(std::size_t less, std::size_t more);

  std::size_t bytes_max_;
  std::size_t bytes_ = 0;
  std::unordered_map<std::string, std::string> values_;
  std::unordered_map<std::string, std::vector<key_waiter*>> waiting_;
  std::deque<key_waiter*> due_;
};

}  // namespace hocket::rdzv
