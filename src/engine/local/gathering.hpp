// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/detail/op_state.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/group/engine.hpp>
#include <memory>
#include <mutex>
#include <source_location>
#include <string>
#include <vector>

namespace hocket::local {

class fabric;

/// The members of a group on their way into it.
class gathering : public std::enable_shared_from_this<gathering> {
 public:
  gathering(std::shared_ptr<fabric> f, group_spec const& first);
  ~gathering();

  work<std::shared_ptr<endpoint>> join(group_spec const& spec, detail::port_ptr home,
                                       std::source_location site, runtime_handle const& rt);
  /// A member's wait ended before all had come: the group is not made, for nobody.
  void give_up(int rank);
  [[nodiscard]] std::string missing();

 private:
  class joining;
  using handle = boost::intrusive_ptr<joining>;
  void fail_all(std::vector<handle>& members, errc code, std::string const& why);

  std::shared_ptr<fabric> const fabric_;
  group_spec const spec_;
  std::mutex mutex_;
  std::vector<handle> members_;
  int joined_ = 0;
  bool over_ = false;
};

}  // namespace hocket::local
