// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "peer_place.hpp"

#include <hocket/error.hpp>
#include <sstream>

namespace hocket::host {

// "host pid seal address address ..."
std::string encode(peer_place const& p) {
  std::ostringstream text;
  text << p.host << ' ' << p.process << ' ' << p.seal;
  for (auto const& a : p.addresses) text << ' ' << a.to_string();
  return text.str();
}

peer_place decode_place(std::string const& text) {
  std::istringstream from(text);
  peer_place p;
  std::string address;
  if (!(from >> p.host >> p.process >> p.seal))
    throw error(errc::corrupt, "no address: \"" + text + "\"");
  while (from >> address) p.addresses.push_back(io::address::parse(address));
  if (p.addresses.empty()) throw error(errc::corrupt, "no address: \"" + text + "\"");
  return p;
}

}  // namespace hocket::host
