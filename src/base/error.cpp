// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/error.hpp>

#include <cerrno>
#include <utility>

namespace hocket {
namespace {

char const* name_of(errc e) noexcept {
  switch (e) {
    case errc::invalid_argument: return "invalid_argument";
    case errc::mismatch: return "mismatch";
    case errc::desynchronised: return "desynchronised";
    case errc::peer_failed: return "peer_failed";
    case errc::peer_lost: return "peer_lost";
    case errc::timed_out: return "timed_out";
    case errc::revoked: return "revoked";
    case errc::excluded: return "excluded";
    case errc::group_closed: return "group_closed";
    case errc::not_a_member: return "not_a_member";
    case errc::not_initialized: return "not_initialized";
    case errc::already_initialized: return "already_initialized";
    case errc::ambiguous_rank: return "ambiguous_rank";
    case errc::unsupported: return "unsupported";
    case errc::queue_full: return "queue_full";
    case errc::would_block: return "would_block";
    case errc::unordered: return "unordered";
    case errc::captured: return "captured";
    case errc::leased: return "leased";
    case errc::store_lost: return "store_lost";
    case errc::corrupt: return "corrupt";
    case errc::too_large: return "too_large";
    case errc::out_of_memory: return "out_of_memory";
  }
  return "unknown";
}

// Boost's base has a protected destructor that is not virtual; the one instance is never destroyed.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wnon-virtual-dtor"
class category final : public boost::system::error_category {
 public:
  char const* name() const noexcept override { return "hocket"; }
  std::string message(int value) const override { return name_of(static_cast<errc>(value)); }
  char const* message(int value, char*, std::size_t) const noexcept override {
    return name_of(static_cast<errc>(value));
  }
  // Generic code can ask for the POSIX meaning: `ec == boost::system::errc::timed_out`.
  boost::system::error_condition default_error_condition(int value) const noexcept override {
    namespace posix = boost::system::errc;
    switch (static_cast<errc>(value)) {
      case errc::invalid_argument: return make_error_condition(posix::invalid_argument);
      case errc::timed_out: return make_error_condition(posix::timed_out);
      case errc::unsupported: return make_error_condition(posix::operation_not_supported);
      case errc::peer_lost: return make_error_condition(posix::connection_reset);
      case errc::would_block: return make_error_condition(posix::operation_would_block);
      case errc::queue_full: return make_error_condition(posix::no_buffer_space);
      case errc::too_large: return make_error_condition(posix::message_size);
      case errc::out_of_memory: return make_error_condition(posix::not_enough_memory);
      default: return {value, *this};
    }
  }
};
#pragma GCC diagnostic pop

}  // namespace

boost::system::error_category const& hocket_category() noexcept {
  static auto const* const instance = new category;  // outlives every static that reports an error
  return *instance;
}

boost::system::error_code make_error_code(errc e) noexcept {
  return {static_cast<int>(e), hocket_category()};
}

boost::system::error_code operation_aborted() noexcept {
  return {ECANCELED, boost::system::system_category()};
}

error::error(boost::system::error_code code, std::string story)
    : system_error(code), story_(std::move(story)) {}

error::error(errc code, std::string story) : error(make_error_code(code), std::move(story)) {}

}  // namespace hocket
