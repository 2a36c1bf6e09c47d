// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <hocket/group/detail/object_reader.hpp>
#include <hocket/group/detail/object_type.hpp>
#include <hocket/group/detail/object_wire.hpp>
#include <hocket/group/detail/object_writer.hpp>
#include <hocket/tensor/tensor.hpp>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <typeinfo>
#include <variant>

namespace hocket::detail {

/// How a type is written and read: `write(writer, value)` and `read(reader, value)`; and what
/// members compare of it: `type(typer)`.
template <class T>
struct object_codec {
  static_assert(sizeof(T) == 0,
                "no object can hold this type: give it a hocket_describe "
                "(a friend inside it, where the type is a template)");
};

/// Converts to a reference to T and to nothing else, so that the description of a base class does
/// not silently serve a derived one.
template <class T>
struct exactly {
  template <std::same_as<T> U>
  operator U&() const;
};

template <class T>
concept described = std::is_class_v<T> && requires(object_writer& w, exactly<T> value) {
  hocket_describe(w, value);
};

template <class T>
concept whole_number = std::integral<T> && !std::same_as<T, bool> && sizeof(T) <= 8;

template <class T>
concept real_number = std::same_as<T, float> || std::same_as<T, double>;

/// Keeps a reader's or writer's count of levels.
template <class Codec>
class level {
 public:
  explicit level(Codec& c) : codec_(c) { c.enter(); }
  ~level() { codec_.leave(); }
  level(level const&) = delete;
  level& operator=(level const&) = delete;

 private:
  Codec& codec_;
};

template <>
struct object_codec<bool> {
  static void write(object_writer& w, bool v) {
    w.tag(wire_tag::boolean);
    w.number(static_cast<std::uint8_t>(v));
  }
  static void read(object_reader& r, bool& v) { v = r.boolean(); }
  static void type(object_typer& t) { t.word("bool"); }
};

template <whole_number T>
struct object_codec<T> {
  static void write(object_writer& w, T v) {
    if constexpr (std::is_signed_v<T>) {
      w.tag(wire_tag::i64);
      w.number(static_cast<std::int64_t>(v));
    } else {
      w.tag(wire_tag::u64);
      w.number(static_cast<std::uint64_t>(v));
    }
  }
  static void read(object_reader& r, T& v) {
    wide_integer const n = r.integer();
    if (!fits<T>(n)) r.does_not_fit(n, sizeof(T), std::is_signed_v<T>);
    v = static_cast<T>(n.bits);
  }
  static void type(object_typer& t) { t.word("integer"); }
};

template <class T>
requires std::is_enum_v<T>
struct object_codec<T> {
  using integer = std::underlying_type_t<T>;
  static void write(object_writer& w, T v) { w.value(static_cast<integer>(v)); }
  static void read(object_reader& r, T& v) {
    integer n{};
    r.value(n);
    v = static_cast<T>(n);
  }
  static void type(object_typer& t) { t.word("integer"); }
};

template <real_number T>
struct object_codec<T> {
  static constexpr wire_tag tag = sizeof(T) == 4 ? wire_tag::f32 : wire_tag::f64;
  static void write(object_writer& w, T v) {
    w.tag(tag);
    w.number(v);
  }
  static void read(object_reader& r, T& v) {
    r.expect(tag);
    v = r.number<T>();
  }
  static void type(object_typer& t) { t.word(sizeof(T) == 4 ? "float" : "double"); }
};

template <>
struct object_codec<std::string_view> {
  static void write(object_writer& w, std::string_view v) {
    w.blob(wire_tag::string, std::as_bytes(std::span(v.data(), v.size())));
  }
  static void type(object_typer& t) { t.word("string"); }
};

template <class A>
struct object_codec<std::basic_string<char, std::char_traits<char>, A>> {
  using string = std::basic_string<char, std::char_traits<char>, A>;
  static void write(object_writer& w, string const& v) { w.value(std::string_view(v)); }
  static void read(object_reader& r, string& v) {
    auto const bytes = r.blob(wire_tag::string);
    v.assign(reinterpret_cast<char const*>(bytes.data()), bytes.size());
  }
  static void type(object_typer& t) { t.word("string"); }
};

template <>
struct object_codec<std::monostate> {
  static void write(object_writer& w, std::monostate) { w.tag(wire_tag::unit); }
  static void read(object_reader& r, std::monostate&) { r.expect(wire_tag::unit); }
  static void type(object_typer& t) { t.word("unit"); }
};

template <>
struct object_codec<tensor> {
  static void write(object_writer& w, tensor const& v) { w.attach(v); }
  static void read(object_reader& r, tensor& v) { v = r.attached(); }
  static void type(object_typer& t) { t.word("tensor"); }
};

template <described T>
struct object_codec<T> {
  static void write(object_writer& w, T const& v) {
    level const one(w);
    auto const outer = w.begin_struct();
    // A description serves both directions, so it takes a reference that could write; ours reads.
    hocket_describe(w, const_cast<T&>(v));
    w.end_struct(outer);
  }
  static void read(object_reader& r, T& v) {
    level const one(r);
    auto const outer = r.begin_struct(typeid(T));
    hocket_describe(r, v);
    r.end_struct(outer);
  }
  static void type(object_typer& t) {
    if constexpr (std::is_default_constructible_v<T>) {
      if (!t.begin_struct(typeid(T))) return;
      T value = T();
      hocket_describe(t, value);
      t.end_struct();
    } else {
      t.unknown();
    }
  }
};

}  // namespace hocket::detail
