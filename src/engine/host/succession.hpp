// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <exception>
#include <hocket/async/detail/op_state.hpp>
#include <hocket/async/work.hpp>
#include <hocket/error.hpp>
#include <hocket/group/engine.hpp>
#include <hocket/group/store.hpp>
#include <memory>
#include <mutex>
#include <source_location>
#include <stop_token>
#include <string>
#include <vector>

namespace hocket::host {

class host_hub;

/// One member's way from a revoked group into the group that goes on.
///
/// Members register in the store, under a prefix of the old group's. Who finds that all have come
/// whom it does not know to be gone, or whose deadline passes, proposes those that have registered;
/// the first proposal is the membership, by a compare-and-set. Any thread may call.
class succession final : public std::enable_shared_from_this<succession> {
 public:
  succession(std::shared_ptr<host_hub> from, detail::port_ptr home, std::source_location site);
  ~succession();
  [[nodiscard]] work<membership> begin(clock::duration deadline);
  [[nodiscard]] work<membership> refuse(errc code, std::string const& why);
  /// Somebody else is known to be gone.
  void member_left();

 private:
  class heir;
  class alarm;
  class entrance;

  [[nodiscard]] std::string key(std::string const& what) const;
  work<membership> make_handle();
  void registered();
  void wait_for_all();
  void propose();
  void ask_next(int place, std::vector<int> came);
  void close_with(std::vector<int> const& came);
  void closed(std::string const& members);
  void enter(std::vector<int> const& places);
  void withdrawn();
  void fail(errc code, std::string const& why);
  void fail(std::exception_ptr const& e);
  void admitted(membership m);
  void end(detail::failure const& why);
  [[nodiscard]] boost::intrusive_ptr<heir> take_op();
  [[nodiscard]] boost::intrusive_ptr<heir> current();
  [[nodiscard]] bool is_over();

  std::shared_ptr<host_hub> const from_;
  std::source_location const site_;
  std::shared_ptr<store> const store_;
  detail::port_ptr const home_;
  boost::intrusive_ptr<heir> op_;
  boost::intrusive_ptr<alarm> limit_;
  std::stop_source pending_;  // calls of the store that wait
  std::mutex mutex_;
  std::stop_source round_;  // the wait for all who may still come
  bool is_registered_ = false;
  bool is_proposing_ = false;
  bool is_closed_ = false;
};

}  // namespace hocket::host
