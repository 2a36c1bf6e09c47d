// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/system/error_code.hpp>
#include <boost/system/system_error.hpp>
#include <string>

namespace hocket {

/// What went wrong. Every failure of this library carries one of these codes, or a foreign code
/// (system, CUDA, NCCL) in its own category that compares equal to the matching one here.
/// A cancelled wait is not among them: it is Asio's `operation_aborted`.
enum class errc {
  invalid_argument = 1,  ///< a value given by the caller is wrong; the text has the numbers
  mismatch,              ///< ranks gave different arguments to one operation; the channel goes on
  desynchronised,        ///< ranks called different operations; later ones of the channel fail too
  peer_failed,           ///< a peer could not take part: its own call failed locally
  peer_lost,             ///< a peer's program, process or host is gone
  timed_out,             ///< a deadline passed; the text names the ranks that had not come
  revoked,               ///< the group was revoked by a member
  excluded,              ///< this rank was left out of the rebuilt group
  group_closed,          ///< the group, channel or world was closed or dropped
  not_a_member,          ///< the named or calling rank is not in the group
  not_initialized,       ///< the process's state was used before it was initialised
  already_initialized,   ///< initialised before, with another topology
  ambiguous_rank,        ///< the process hosts several ranks: pass the ParallelState
  unsupported,           ///< the engine has no such operation for this dtype
  queue_full,            ///< past twice the channel's window; nothing was buffered
  would_block,           ///< a blocking wait inside a handler of the same executor
  unordered,             ///< a device tensor with an unknown writer and no `.after(...)`
  captured,              ///< the operation is part of a stream capture and cannot be awaited
  leased,                ///< the storage is still used by an operation
  store_lost,            ///< the rendezvous store is gone
  corrupt,               ///< received bytes are not a valid object
  too_large,             ///< an object, frame or message is above its cap
  out_of_memory,         ///< an allocation failed
};

/// The category of `errc`. A message of it is the name of the code: "timed_out".
[[nodiscard]] boost::system::error_category const& hocket_category() noexcept;
/// Lets an `errc` stand where an `error_code` is asked for.
[[nodiscard]] boost::system::error_code make_error_code(errc e) noexcept;

/// The code of a cancelled wait; equal to `boost::asio::error::operation_aborted`.
[[nodiscard]] boost::system::error_code operation_aborted() noexcept;

/// A failure with its story: `what()` names the operation, group, channel, sequence number, ranks
/// and call site where they are known, what was wrong, and what would have been right.
class error : public boost::system::system_error {
 public:
  /// @{
  /// `story` becomes `what()`, word for word.
  error(boost::system::error_code code, std::string story);
  error(errc code, std::string story);
  /// @}
  /// The story alone, without the message of the code.
  [[nodiscard]] char const* what() const noexcept override { return story_.c_str(); }

 private:
  std::string story_;
};

}  // namespace hocket

template <>
struct boost::system::is_error_code_enum<hocket::errc> : std::true_type {};
