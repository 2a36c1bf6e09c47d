// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <boost/core/demangle.hpp>
#include <hocket/group/detail/object_type.hpp>
#include <string>
#include <utility>

namespace hocket::detail {

void object_typer::mix(std::string_view bytes) noexcept {
  for (char const c : bytes) hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  hash_ = (hash_ ^ bytes.size()) * 0x100000001b3u;  // "ab", "c" is not "a", "bc"
}

// Inside a struct its name says enough.
void object_typer::say(std::string_view text) {
  if (structs_.empty()) name_ += text;
}

void object_typer::word(std::string_view name) {
  mix(name);
  say(name);
}

// Who takes older bytes, too, has other fields for them: no one description serves all.
std::uint32_t object_typer::version(std::uint32_t current, std::uint32_t oldest) {
  if (oldest != current) known_ = false;
  structs_.back().version = current;
  return current;
}

bool object_typer::begin_struct(std::type_info const& type) {
  mix("struct");
  for (std::size_t i = 0; i < structs_.size(); ++i) {
    if (*structs_[i].type != type) continue;
    mix(std::to_string(structs_.size() - i));  // a type that holds itself
    return false;
  }
  if (structs_.empty()) name_ += boost::core::demangle(type.name());
  structs_.push_back({&type, 0});
  return true;
}

void object_typer::end_struct() {
  mix(std::to_string(structs_.back().version));
  structs_.pop_back();
}

object_type object_typer::finish() && {
  object_type t;
  if (known_) t.hash = hash_ != 0 ? hash_ : 1;
  t.name = std::move(name_);
  return t;
}

}  // namespace hocket::detail
