// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "request.hpp"

#include <hocket/error.hpp>

namespace embed {

opening refusal(std::exception_ptr const& failure) {
  opening o;
  o.code = static_cast<std::int32_t>(hocket::errc::invalid_argument);
  try {
    std::rethrow_exception(failure);
  } catch (hocket::error const& e) {
    o.story = e.what();
    o.is_system = e.code().category() == boost::system::system_category();
    if (o.is_system || e.code().category() == hocket::hocket_category()) o.code = e.code().value();
  } catch (std::exception const& e) {
    o.story = e.what();
  }
  return o;
}

void rethrow(opening const& o) {
  if (o.story.empty()) return;
  boost::system::error_category const& category =
      o.is_system ? boost::system::system_category() : hocket::hocket_category();
  throw hocket::error(boost::system::error_code(o.code, category), o.story);
}

}  // namespace embed
