// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <typeinfo>
#include <vector>

namespace hocket::detail {

template <class T>
struct object_codec;

/// What members compare of the type of an object.
struct object_type {
  std::uint64_t hash = 0;  ///< 0: only the bytes can tell
  std::string name;        ///< "map<string, integer>", for messages
};

/// Describes a type in the terms in which objects travel: two types whose hashes differ cannot be
/// read from each other's bytes. The first three members are what a description calls.
class object_typer {
 public:
  template <class T>
  void operator()(T const&, std::string_view name) {
    mix(name);
    type<T>();
  }
  std::uint32_t version(std::uint32_t current) { return version(current, current); }
  std::uint32_t version(std::uint32_t current, std::uint32_t oldest);

  template <class T>
  void type() {
    object_codec<T>::type(*this);
  }
  /// A type without parameters.
  void word(std::string_view name);
  /// "name<a, b>"; a list of the parameters' own descriptions.
  template <class... T>
  void of(std::string_view name) {
    word(name);
    say("<");
    bool first = true;
    ((say(first ? "" : ", "), first = false, type<T>()), ...);
    say(">");
    mix(">");
  }
  /// A struct that hocket_describe tells. False: it is being described already, further out.
  [[nodiscard]] bool begin_struct(std::type_info const& type);
  void end_struct();
  /// The type has nothing to be described by: only the bytes can tell.
  void unknown() noexcept { known_ = false; }

  [[nodiscard]] object_type finish() &&;

 private:
  void mix(std::string_view bytes) noexcept;
  void say(std::string_view text);

  struct level {
    std::type_info const* type;
    std::uint32_t version;
  };
  std::uint64_t hash_ = 0xcbf29ce484222325u;
  bool known_ = true;
  std::string name_;
  std::vector<level> structs_;  // the open ones, from outside in
};

/// Of T, made once.
template <class T>
[[nodiscard]] object_type const& object_type_of() {
  static object_type const type = [] {
    object_typer t;
    t.type<T>();
    return std::move(t).finish();
  }();
  return type;
}

}  // namespace hocket::detail
