// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/async/op_options.hpp>
#include <hocket/async/work.hpp>
#include <memory>
#include <source_location>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

/// What the processes of a job know in common before they can talk: texts under names, kept by one
/// of them or by their launcher.
///
/// Every call starts at once and has a deadline: that of its options, else the store's. A missed
/// one is `errc::timed_out`, and its story names the key, the address and what went on there. When
/// the store is gone, all calls, pending and later, are `errc::store_lost`; when its handle is
/// dropped, pending ones are `errc::group_closed`. A key over 8 KiB, a value over 8 MiB and a list
/// over 128 Ki keys are `errc::invalid_argument`.
///
/// Calls of one handle may overtake one another: await `set` before a call that relies on it.
/// Threads: any may call. A pending call is outstanding work of the store's executor.
class store {
 public:
  /// @{
  /// Short names for what calls take.
  using key_list = std::vector<std::string>;
  using site = std::source_location;
  /// @}

  virtual ~store() = default;

  /// "127.0.0.1:29500": where the store is, for messages.
  [[nodiscard]] virtual std::string_view address() const noexcept = 0;

  /// Done when the store has the value; one that was there is replaced.
  [[nodiscard]] virtual work<> set(std::string key, std::string value,
                                   op_options const& options = {}, site from = site::current()) = 0;

  /// The value, once there is one.
  [[nodiscard]] virtual work<std::string> get(std::string key, op_options const& options = {},
                                              site from = site::current()) = 0;

  /// Adds to a number that is kept as decimal text and begins as 0; gives the sum.
  [[nodiscard]] virtual work<std::int64_t> add(std::string key, std::int64_t amount,
                                               op_options const& options = {},
                                               site from = site::current()) = 0;

  /// Sets `desired` if the value is `expected`, or if there is none and `expected` is empty. Gives
  /// what the key holds afterwards; `expected`, if there is none.
  [[nodiscard]] virtual work<std::string> compare_set(std::string key, std::string expected,
                                                      std::string desired,
                                                      op_options const& options = {},
                                                      site from = site::current()) = 0;

  /// Whether all keys are there now.
  [[nodiscard]] virtual work<bool> check(key_list keys, op_options const& options = {},
                                         site from = site::current()) = 0;

  /// Done once all keys are there.
  [[nodiscard]] virtual work<> wait(key_list keys, op_options const& options = {},
                                    site from = site::current()) = 0;

  /// Whether the key was there.
  [[nodiscard]] virtual work<bool> erase(std::string key, op_options const& options = {},
                                         site from = site::current()) = 0;
};

/// The part of a store whose keys begin with `prefix`, under the rest of their names: so that the
/// keys of one group, epoch or library are not those of another.
[[nodiscard]] std::shared_ptr<store> make_prefixed_store(std::shared_ptr<store> whole,
                                                         std::string prefix);

}  // namespace hocket
