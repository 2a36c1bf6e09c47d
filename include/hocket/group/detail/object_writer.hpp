// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/group/detail/object_wire.hpp>
#include <hocket/group/object_limits.hpp>
#include <hocket/group/parcel.hpp>
#include <span>
#include <string_view>
#include <vector>

namespace hocket::detail {

template <class T>
struct object_codec;

/// Turns values into an object's bytes. The first three members are what a description calls.
class object_writer {
 public:
  /// A field of the struct that is being described.
  template <class T>
  void operator()(T const& member, std::string_view name) {
    field(name);
    value(member);
  }
  std::uint32_t version(std::uint32_t current) { return version(current, current); }
  std::uint32_t version(std::uint32_t current, std::uint32_t oldest);

  explicit object_writer(object_limits const& limits);
  [[nodiscard]] parcel finish() &&;

  template <class T>
  void value(T const& v) {
    object_codec<T>::write(*this, v);
  }

  void tag(wire_tag t) { *room(1) = static_cast<std::byte>(t); }
  template <class T>
  void number(T n) {
    store(room(sizeof n), n);
  }
  void raw(std::span<std::byte const> bytes);
  /// A tag, a length and that many bytes.
  void blob(wire_tag t, std::span<std::byte const> bytes);
  void attach(tensor const& t);

  /// One more level of containers; ended by `leave`.
  void enter();
  void leave() { --depth_; }
  /// Returns where the version of the struct around this one lies, for `end_struct`.
  [[nodiscard]] std::size_t begin_struct();
  void end_struct(std::size_t outer);

 private:
  void field(std::string_view name);
  std::byte* room(std::size_t n) {
    if (n > capacity_ - size_) [[unlikely]]
      grow(n);
    std::byte* const at = data_ + size_;
    size_ += n;
    return at;
  }
  void grow(std::size_t n);
  void put_table();

  object_limits limits_;
  tensor buffer_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::size_t capacity_ = 0;
  std::size_t version_at_ = 0;  // of the innermost open struct
  std::uint32_t depth_ = 0;
  std::vector<tensor> tensors_;
};

}  // namespace hocket::detail
