// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/async/runtime.hpp>
#include <hocket/group/request.hpp>
#include <utility>

namespace hocket::matching {

class hub;
class meeting;

/// How an engine carries out what has matched. Called under no lock, by whoever made the match.
class carrier {
 public:
  virtual ~carrier() = default;
  [[nodiscard]] virtual runtime_handle const& rt() const noexcept = 0;
  /// Everybody has come and agrees. Ends, now or later, with `meeting::finish`.
  virtual void carry(hub& at, meeting& m) noexcept = 0;
  /// A send and its receive. Ends, now or later, with `request::complete` of both.
  virtual void carry(hub& at, request& send, request& recv) noexcept = 0;
  /// The request ends without having been carried out.
  virtual void end(hub& /*at*/, request& r, detail::failure why) noexcept {
    r.complete(std::move(why));
  }
};

}  // namespace hocket::matching
