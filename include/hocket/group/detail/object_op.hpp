// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <hocket/group/object.hpp>
#include <hocket/group/process_group.hpp>
#include <optional>
#include <utility>
#include <vector>

namespace hocket {
namespace detail {

/// How large an object may be in the request's group, or in `g`.
[[nodiscard]] object_limits const& limits_of(request const& r);
[[nodiscard]] object_limits const& limits_of(process_group const& g);

/// Tells a reader which rank's object of which operation cannot be read.
[[noreturn]] void tell_unreadable(request const& r, int giver, error const& e);

/// One waiter's copy of what `giver` gave.
template <class T>
[[nodiscard]] T read_object(request const& r, int giver, parcel const& p) {
  try {
    return decode_object<T>(p, limits_of(r));
  } catch (error const& e) {
    tell_unreadable(r, giver, e);
  }
}

/// An object that comes: each waiter decodes a T of its own from the bytes.
template <class T>
class object_op final : public group_op<T> {
 public:
  using group_op<T>::group_op;
  [[nodiscard]] T take() override {
    parcel p;
    p.bytes = this->asked.out;
    p.tensors = this->asked.attachments;
    request const& r = this->asked;
    return read_object<T>(r, is_recv(r.print.kind) ? r.peer : r.print.root, p);
  }
};

/// One object from each member; nothing where they are not gathered.
template <class T>
class objects_op final : public group_op<std::vector<T>> {
 public:
  using group_op<std::vector<T>>::group_op;
  [[nodiscard]] std::vector<T> take() override {
    std::vector<T> all;
    all.reserve(this->asked.parcels.size());
    for (auto const& p : this->asked.parcels)
      all.push_back(read_object<T>(this->asked, static_cast<int>(all.size()), p));
    return all;
  }
};

/// What a call gives, encoded; or why it could not be.
struct encoded {
  encoded() = default;
  std::optional<parcel> one;
  std::vector<parcel> each;
  failure failed;
};

/// Whether this rank gives the objects of such a call; throws if the root is no member.
[[nodiscard]] bool gives_objects(process_group const& g, op_kind kind, source peer);

/// The part of a call on objects that does not depend on their type. `peer`: root, or other side.
void begin_objects(process_group const& g, op_ref op, request& asked, op_kind kind, source peer,
                   encoded e, object_type const* type, op_options const& options,
                   std::source_location site);

[[nodiscard]] port_ptr home_of(process_group const& g);
[[nodiscard]] std::shared_ptr<endpoint> endpoint_of(process_group const& g);

/// A call on objects of T from its values to its handle; `encode` runs where this rank gives.
template <class Op, class T, class Encode>
boost::intrusive_ptr<Op> launch_objects(process_group const& g, op_kind kind, source peer,
                                        Encode encode, op_options const& options,
                                        std::source_location site) {
  boost::intrusive_ptr<Op> op(new Op(home_of(g), endpoint_of(g)), false);
  encoded e;
  object_type const* type = nullptr;
  try {
    type = &object_type_of<T>();
    if (gives_objects(g, kind, peer)) encode(e);
  } catch (...) {
    e.failed = failure_from(std::current_exception());
  }
  begin_objects(g, op_ref(op), op->asked, kind, peer, std::move(e), type, options, site);
  return op;
}

}  // namespace detail

template <class T>
work<T> process_group::broadcast_object(std::optional<T> value, member root,
                                        op_options const& options,
                                        std::source_location site) const {
  if (is_disabled()) {
    if (value) return make_ready_work<T>(nullptr, *std::move(value));
    return detail::failed_work<T>(errc::invalid_argument, "broadcast_object",
                                  "on a disabled group there is no value to give", site);
  }
  return work<T>(detail::launch_objects<detail::object_op<T>, T>(
      *this, op_kind::broadcast_object, source(root),
      [&](detail::encoded& e) {
        if (value) e.one = encode_object(*value, detail::limits_of(*this));
      },
      options, site));
}

template <class T>
work<std::vector<T>> process_group::gather_objects(T value, member root, op_options const& options,
                                                   std::source_location site) const {
  if (is_disabled()) {
    std::vector<T> one;
    one.push_back(std::move(value));
    return make_ready_work<std::vector<T>>(nullptr, std::move(one));
  }
  return work<std::vector<T>>(detail::launch_objects<detail::objects_op<T>, T>(
      *this, op_kind::gather_objects, source(root),
      [&](detail::encoded& e) { e.one = encode_object(value, detail::limits_of(*this)); }, options,
      site));
}

template <class T>
work<T> process_group::scatter_objects(std::vector<T> values, member root,
                                       op_options const& options, std::source_location site) const {
  if (is_disabled()) {
    if (values.size() == 1) return make_ready_work<T>(nullptr, T(std::move(values.front())));
    return detail::failed_work<T>(errc::invalid_argument, "scatter_objects",
                                  "a disabled group takes one value", site);
  }
  return work<T>(detail::launch_objects<detail::object_op<T>, T>(
      *this, op_kind::scatter_objects, source(root),
      [&](detail::encoded& e) {
        for (T const& v : values) e.each.push_back(encode_object(v, detail::limits_of(*this)));
      },
      options, site));
}

template <class T>
work<> process_group::send_object(T const& value, member to, op_options const& options,
                                  std::source_location site) const {
  if (is_disabled())
    return detail::failed_work<void>(errc::invalid_argument, "send_object",
                                     "a disabled group has no other rank", site);
  return work<>(detail::launch_objects<detail::signal_op, T>(
      *this, op_kind::send_object, source(to),
      [&](detail::encoded& e) { e.one = encode_object(value, detail::limits_of(*this)); }, options,
      site));
}

template <class T>
work<T> process_group::recv_object(source from, op_options const& options,
                                   std::source_location site) const {
  if (is_disabled())
    return detail::failed_work<T>(errc::invalid_argument, "recv_object",
                                  "a disabled group has no other rank", site);
  return work<T>(detail::launch_objects<detail::object_op<T>, T>(
      *this, op_kind::recv_object, from, [](detail::encoded&) {}, options, site));
}

}  // namespace hocket
