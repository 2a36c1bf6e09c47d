// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <hocket/async/clock.hpp>
#include <optional>
#include <string>
#include <utility>

namespace hocket {

/// How to make a group.
class group_options {
 public:
  group_options() = default;

  /// A name that all members give alike. Default: made from the list of members and how many times
  /// this rank has made a group of that list before.
  group_options& name(std::string n) {
    name_ = std::move(n);
    return *this;
  }
  /// Where handlers without an executor of their own run. Default: the world's executor.
  group_options& executor(boost::asio::any_io_executor ex) {
    executor_ = std::move(ex);
    return *this;
  }
  /// How long the making of the group, and then each of its operations, may take unless the
  /// operation says otherwise. Default: 30 minutes.
  group_options& deadline(clock::duration d) {
    deadline_ = d;
    return *this;
  }

  [[nodiscard]] std::string const& name() const noexcept { return name_; }
  [[nodiscard]] std::optional<boost::asio::any_io_executor> const& executor() const noexcept {
    return executor_;
  }
  [[nodiscard]] clock::duration deadline() const noexcept { return deadline_; }

 private:
  std::string name_;
  std::optional<boost::asio::any_io_executor> executor_;
  clock::duration deadline_ = std::chrono::minutes(30);
};

}  // namespace hocket
