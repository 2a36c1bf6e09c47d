// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/store.hpp>
#include <memory>
#include <string>

#include "engine/host/directory.hpp"

namespace hocket {

/// Where the ranks of a job are, as each has written into the store.
class store_directory final : public host::directory {
 public:
  explicit store_directory(std::shared_ptr<store> s) : store_(std::move(s)) {}
  [[nodiscard]] static std::string key(int rank);
  void find(int rank, found then) override;

 private:
  std::shared_ptr<store> const store_;
};

}  // namespace hocket
