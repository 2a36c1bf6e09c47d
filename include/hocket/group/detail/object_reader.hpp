// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/error.hpp>
#include <hocket/group/detail/object_wire.hpp>
#include <hocket/group/object_limits.hpp>
#include <hocket/group/parcel.hpp>
#include <hocket/tensor/dtype.hpp>
#include <span>
#include <string>
#include <string_view>
#include <typeinfo>

namespace hocket::detail {

template <class T>
struct object_codec;

/// Turns an object's bytes into values. The first three members are what a description calls.
/// Every read is checked against the bytes that are left.
class object_reader {
 public:
  /// The next field of the struct that is being described.
  template <class T>
  void operator()(T& member, std::string_view name) {
    field(name);
    value(member);
    here_.field = {};
  }
  std::uint32_t version(std::uint32_t current) { return version(current, current); }
  std::uint32_t version(std::uint32_t current, std::uint32_t oldest);

  /// Checks the frame, its CRC and that the attached tensors are those of the table.
  /// `p` outlives the reader.
  object_reader(parcel const& p, object_limits const& limits);
  /// Everything was read: no bytes and no tensors are left over.
  void finish() const;

  template <class T>
  void value(T& v) {
    object_codec<T>::read(*this, v);
  }

  /// The next tag, which must be `t`.
  void expect(wire_tag t);
  [[nodiscard]] bool boolean();
  [[nodiscard]] wide_integer integer();
  template <class T>
  [[nodiscard]] T number() {
    return load<T>(take(sizeof(T)));
  }
  /// Of a list or map: not more than there are bytes left.
  [[nodiscard]] std::uint64_t count(wire_tag t);
  /// As above, and exactly `expected`.
  void exact_count(wire_tag t, std::uint64_t expected);
  [[nodiscard]] std::span<std::byte const> blob(wire_tag t);
  /// Whether the optional that comes next has a value.
  [[nodiscard]] bool presence();
  /// The index of a variant of `alternatives` types.
  [[nodiscard]] std::uint64_t alternative(std::uint64_t alternatives);
  [[nodiscard]] hocket::tensor attached();

  struct elements {
    dtype type;
    std::uint64_t count;
    std::byte const* data;
  };
  /// The elements of a packed array: of `wanted`, or integers where an integer is wanted.
  [[nodiscard]] elements packed(dtype wanted);

  void enter();
  void leave() { --depth_; }
  /// The struct that is being read, as far as errors and versions need it.
  struct place {
    std::type_info const* type = nullptr;
    std::string_view field;
    std::uint32_t version = 0;
    bool version_asked = true;
  };
  /// Returns the place around the struct, for `end_struct`.
  [[nodiscard]] place begin_struct(std::type_info const& type);
  void end_struct(place const& outer);

  [[nodiscard]] std::size_t left() const noexcept { return end_ - at_; }
  [[noreturn]] void does_not_fit(wide_integer n, std::size_t bytes, bool is_signed) const;
  [[noreturn]] void wrong_size(std::uint64_t have, std::uint64_t expected) const;
  [[noreturn]] void duplicate_key() const;

 private:
  std::byte const* take(std::uint64_t n) {
    if (n > left()) [[unlikely]]
      short_by(n);
    std::byte const* const from = data_ + at_;
    at_ += static_cast<std::size_t>(n);
    return from;
  }
  wire_tag tag() { return static_cast<wire_tag>(*take(1)); }
  void field(std::string_view name);
  std::string_view next_name();
  [[noreturn]] void short_by(std::uint64_t n) const;
  [[noreturn]] void unexpected(std::string_view expected, wire_tag got) const;
  [[noreturn]] void fail(errc code, std::string_view what) const;
  [[nodiscard]] std::string where() const;

  object_limits limits_;
  std::byte const* data_ = nullptr;
  std::size_t at_ = 0;    // the next byte, counted from the header's first
  std::size_t end_ = 0;   // of the value; the table follows
  std::size_t mark_ = 0;  // where the value that is being read begins
  std::span<tensor const> tensors_;
  std::size_t tensors_read_ = 0;
  std::uint32_t depth_ = 0;
  place here_;
};

/// One element of a packed array of integers.
[[nodiscard]] wide_integer integer_at(dtype type, std::byte const* from) noexcept;

}  // namespace hocket::detail
