// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <hocket/group/detail/object_codec.hpp>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace hocket::detail {

template <class T>
concept packable = whole_number<T> || real_number<T>;

/// The dtype as which elements travel; unlike `dtype_of`, for every type of integer.
template <packable T>
[[nodiscard]] constexpr dtype packed_dtype() noexcept {
  if constexpr (real_number<T>) return sizeof(T) == 4 ? dtype::f32 : dtype::f64;
  constexpr bool sign = std::is_signed_v<T>;
  switch (sizeof(T)) {
    case 1:
      return sign ? dtype::i8 : dtype::u8;
    case 2:
      return sign ? dtype::i16 : dtype::u16;
    case 4:
      return sign ? dtype::i32 : dtype::u32;
    default:
      return sign ? dtype::i64 : dtype::u64;
  }
}

/// Elements that lie side by side: bytes, packed numbers, or values one after the other.
template <class T>
void write_sequence(object_writer& w, std::span<T const> v) {
  if constexpr (std::same_as<T, std::byte>) {
    w.blob(wire_tag::bytes, v);
  } else if constexpr (packable<T>) {
    w.tag(wire_tag::packed);
    w.number(packed_dtype<T>());
    w.number(std::uint64_t{v.size()});
    w.raw(std::as_bytes(v));
  } else {
    level const one(w);
    w.tag(wire_tag::list);
    w.number(std::uint64_t{v.size()});
    for (T const& element : v) w.value(element);
  }
}

template <class T>
void type_sequence(object_typer& t) {
  if constexpr (std::same_as<T, std::byte>) {
    t.word("bytes");
  } else {
    t.of<T>("list");
  }
}

/// `count` packed elements that may have another width than T.
template <packable T>
void unpack(object_reader& r, object_reader::elements const& from, T* to) {
  if (from.type == packed_dtype<T>()) {
    if (from.count != 0) std::memcpy(to, from.data, from.count * sizeof(T));
    return;
  }
  if constexpr (whole_number<T>) {
    for (std::uint64_t i = 0; i < from.count; ++i) {
      wide_integer const n = integer_at(from.type, from.data + i * size_of(from.type));
      if (!fits<T>(n)) r.does_not_fit(n, sizeof(T), std::is_signed_v<T>);
      to[i] = static_cast<T>(n.bits);
    }
  }
}

template <class T>
struct object_codec<std::span<T>> {  // written only
  static void write(object_writer& w, std::span<T> v) {
    write_sequence(w, std::span<std::remove_const_t<T> const>(v));
  }
  static void type(object_typer& t) { type_sequence<std::remove_const_t<T>>(t); }
};

template <class T, class A>
struct object_codec<std::vector<T, A>> {
  static void write(object_writer& w, std::vector<T, A> const& v) {
    write_sequence(w, std::span<T const>(v));
  }
  static void read(object_reader& r, std::vector<T, A>& v) {
    if constexpr (std::same_as<T, std::byte>) {
      auto const bytes = r.blob(wire_tag::bytes);
      v.assign(bytes.begin(), bytes.end());
    } else if constexpr (packable<T>) {
      auto const from = r.packed(packed_dtype<T>());
      v.resize(from.count);
      unpack(r, from, v.data());
    } else {
      level const one(r);
      auto const n = r.count(wire_tag::list);
      v.clear();
      v.reserve(std::min<std::uint64_t>(n, r.left() / sizeof(T)));
      for (std::uint64_t i = 0; i < n; ++i) r.value(v.emplace_back());
    }
  }
  static void type(object_typer& t) { type_sequence<T>(t); }
};

template <class A>
struct object_codec<std::vector<bool, A>> {
  static void write(object_writer& w, std::vector<bool, A> const& v) {
    level const one(w);
    w.tag(wire_tag::list);
    w.number(std::uint64_t{v.size()});
    for (bool const element : v) w.value(element);
  }
  static void read(object_reader& r, std::vector<bool, A>& v) {
    level const one(r);
    auto const n = r.count(wire_tag::list);
    v.clear();
    for (std::uint64_t i = 0; i < n; ++i) v.push_back(r.boolean());
  }
  static void type(object_typer& t) { type_sequence<bool>(t); }
};

template <class T, std::size_t N>
struct object_codec<std::array<T, N>> {
  static void write(object_writer& w, std::array<T, N> const& v) {
    write_sequence(w, std::span<T const>(v.data(), N));
  }
  static void read(object_reader& r, std::array<T, N>& v) {
    if constexpr (std::same_as<T, std::byte>) {
      auto const bytes = r.blob(wire_tag::bytes);
      if (bytes.size() != N) r.wrong_size(bytes.size(), N);
      if constexpr (N != 0) std::copy(bytes.begin(), bytes.end(), v.begin());
    } else if constexpr (packable<T>) {
      auto const from = r.packed(packed_dtype<T>());
      if (from.count != N) r.wrong_size(from.count, N);
      unpack(r, from, v.data());
    } else {
      level const one(r);
      r.exact_count(wire_tag::list, N);
      for (T& element : v) r.value(element);
    }
  }
  static void type(object_typer& t) { type_sequence<T>(t); }
};

/// std::pair and std::tuple.
template <class Tuple>
struct tuple_codec {
  static constexpr std::uint64_t size = std::tuple_size_v<Tuple>;
  static void write(object_writer& w, Tuple const& v) {
    level const one(w);
    w.tag(wire_tag::tuple);
    w.number(size);
    std::apply([&w](auto const&... element) { (w.value(element), ...); }, v);
  }
  static void read(object_reader& r, Tuple& v) {
    level const one(r);
    r.exact_count(wire_tag::tuple, size);
    std::apply([&r](auto&... element) { (r.value(element), ...); }, v);
  }
};

template <class A, class B>
struct object_codec<std::pair<A, B>> : tuple_codec<std::pair<A, B>> {
  static void type(object_typer& t) { t.of<A, B>("tuple"); }
};
template <class... T>
struct object_codec<std::tuple<T...>> : tuple_codec<std::tuple<T...>> {
  static void type(object_typer& t) { t.of<T...>("tuple"); }
};

/// std::map and std::unordered_map.
template <class Map>
struct map_codec {
  static void write(object_writer& w, Map const& v) {
    level const one(w);
    w.tag(wire_tag::map);
    w.number(std::uint64_t{v.size()});
    for (auto const& [key, mapped] : v) {
      w.value(key);
      w.value(mapped);
    }
  }
  static void read(object_reader& r, Map& v) {
    level const one(r);
    auto const n = r.count(wire_tag::map);
    v.clear();
    for (std::uint64_t i = 0; i < n; ++i) {
      auto key = typename Map::key_type();
      r.value(key);
      auto const [at, is_new] = v.try_emplace(std::move(key));
      if (!is_new) r.duplicate_key();
      r.value(at->second);
    }
  }
  static void type(object_typer& t) {
    t.of<typename Map::key_type, typename Map::mapped_type>("map");
  }
};

template <class K, class V, class C, class A>
struct object_codec<std::map<K, V, C, A>> : map_codec<std::map<K, V, C, A>> {};
template <class K, class V, class H, class E, class A>
struct object_codec<std::unordered_map<K, V, H, E, A>>
    : map_codec<std::unordered_map<K, V, H, E, A>> {};

template <class T>
struct object_codec<std::optional<T>> {
  static void write(object_writer& w, std::optional<T> const& v) {
    level const one(w);
    w.tag(v ? wire_tag::some : wire_tag::none);
    if (v) w.value(*v);
  }
  static void read(object_reader& r, std::optional<T>& v) {
    level const one(r);
    v.reset();
    if (r.presence()) r.value(v.emplace());
  }
  static void type(object_typer& t) { t.of<T>("optional"); }
};

template <class... T>
struct object_codec<std::variant<T...>> {
  using variant = std::variant<T...>;
  static void write(object_writer& w, variant const& v) {
    level const one(w);
    if (v.valueless_by_exception())
      throw error(errc::invalid_argument, "object: a variant without a value");
    w.tag(wire_tag::variant);
    w.number(std::uint64_t{v.index()});
    std::visit([&w](auto const& value) { w.value(value); }, v);
  }
  static void read(object_reader& r, variant& v) {
    level const one(r);
    read_at(r, v, r.alternative(sizeof...(T)), std::index_sequence_for<T...>());
  }
  static void type(object_typer& t) { t.of<T...>("variant"); }

 private:
  template <std::size_t... I>
  static void read_at(object_reader& r, variant& v, std::uint64_t index,
                      std::index_sequence<I...>) {
    ((index == I ? r.value(v.template emplace<I>()) : void()), ...);
  }
};

}  // namespace hocket::detail
