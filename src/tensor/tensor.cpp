// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <array>
#include <cstring>
#include <hocket/detail/assert.hpp>
#include <hocket/error.hpp>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/tensor.hpp>

#include "host_only.hpp"

namespace hocket {
namespace {

using strides_array = std::array<std::int64_t, shape::ndim_max>;

strides_array row_major(shape const& extents) noexcept {
  strides_array strides{};
  std::int64_t step = 1;
  for (auto dim = extents.size(); dim-- > 0;) {
    strides[dim] = step;
    step *= extents[dim] == 0 ? 1 : extents[dim];
  }
  return strides;
}

bool in_row_major_order(detail::description const& d) noexcept {
  std::int64_t step = 1;
  for (auto dim = d.shape.size(); dim-- > 0;) {
    if (d.shape[dim] != 1 && d.strides[dim] != step) return false;
    step *= d.shape[dim];
  }
  return true;
}

void finish(detail::description& d) {
  d.numel = d.shape.numel();
  d.contiguous = d.numel == 0 || in_row_major_order(d);
  if (d.numel == 0) d.offset = 0;  // its storage may have no address to count from
}

std::size_t bytes_for(dtype type, shape const& extents) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(extents.numel(), static_cast<std::int64_t>(size_of(type)), &bytes))
    throw error(errc::too_large, fmt::format("{}{} has more than 2^63 - 1 bytes", name_of(type),
                                             to_string(extents)));
  return static_cast<std::size_t>(bytes);
}

// Elements from the first to the last one of a view, both included; -1 past 2^63 - 1.
std::int64_t span_of(shape const& extents, std::span<std::int64_t const> strides) noexcept {
  std::int64_t last = 0;
  for (std::size_t dim = 0; dim < extents.size(); ++dim) {
    if (extents[dim] == 0) return 0;
    std::int64_t reach = 0;
    if (__builtin_mul_overflow(extents[dim] - 1, strides[dim], &reach) ||
        __builtin_add_overflow(last, reach, &last))
      return -1;
  }
  return last + 1;
}

using description_owner = std::unique_ptr<detail::description>;

description_owner like(detail::description const& d) {
  auto made = std::make_unique<detail::description>();
  made->dtype = d.dtype;
  made->shape = d.shape;
  made->strides = d.strides;
  made->offset = d.offset;
  made->storage = d.storage;
  return made;
}

// The strides of a view of `from` with other extents and as many elements; false if there is none.
// Runs of dimensions that lie row-major in memory are one long dimension; each new dimension must
// come out of one run.
bool view_strides(detail::description const& from, shape const& to, strides_array& strides) {
  if (from.contiguous) {
    strides = row_major(to);
    return true;
  }
  auto dim = from.shape.size();
  std::int64_t left = 1;  // of the current run, counted from its inner end
  std::int64_t step = 1;
  for (auto t = to.size(); t-- > 0;) {
    if (left == 1 && to[t] != 1) {
      while (from.shape[dim - 1] == 1) --dim;
      --dim;
      left = from.shape[dim];
      step = from.strides[dim];
      for (; dim > 0; --dim) {
        if (from.shape[dim - 1] == 1) continue;
        if (from.strides[dim - 1] != step * left) break;
        left *= from.shape[dim - 1];
      }
    }
    if (left % to[t] != 0) return false;
    strides[t] = step;
    step *= to[t];
    left /= to[t];
  }
  return true;
}

}  // namespace

void tensor::undefined() { throw error(errc::invalid_argument, "the tensor is undefined"); }

void tensor::wrong_dtype(hocket::dtype type) const {
  throw error(errc::invalid_argument, fmt::format("{} read as {}", brief(*this), name_of(type)));
}

tensor tensor::empty(hocket::dtype type, hocket::shape const& extents, allocator& from) {
  return from_storage(hocket::storage::allocate(from, bytes_for(type, extents)), type, extents);
}

tensor tensor::from_storage(storage_ptr bytes, hocket::dtype type, hocket::shape const& extents,
                            std::int64_t offset) {
  auto const strides = row_major(extents);
  return from_storage(std::move(bytes), type, extents, {strides.data(), extents.size()}, offset);
}

tensor tensor::from_storage(storage_ptr bytes, hocket::dtype type, hocket::shape const& extents,
                            std::span<std::int64_t const> strides, std::int64_t offset) {
  if (!bytes) throw error(errc::invalid_argument, "a tensor needs a storage");
  if (strides.size() != extents.size())
    throw error(errc::invalid_argument,
                fmt::format("{} strides for shape {}", strides.size(), to_string(extents)));
  for (std::size_t dim = 0; dim < strides.size(); ++dim)
    if (strides[dim] < 0)
      throw error(errc::invalid_argument,
                  fmt::format("stride {} of dimension {} is negative", strides[dim], dim));
  auto d = std::make_unique<detail::description>();
  d->dtype = type;
  d->shape = extents;
  std::copy(strides.begin(), strides.end(), d->strides.begin());
  d->offset = offset;
  finish(*d);

  auto const there = static_cast<std::int64_t>(bytes->size() / size_of(type));
  auto const needed = span_of(extents, strides);
  if (offset < 0 || offset > there || needed < 0 || needed > there - offset)
    throw error(errc::invalid_argument,
                fmt::format("{}{} at element {} does not fit a storage of {} bytes", name_of(type),
                            to_string(extents), offset, bytes->size()));
  d->storage = std::move(bytes);
  return tensor(d.release());
}

tensor tensor::copy_of(std::span<std::byte const> values, hocket::dtype type,
                       hocket::shape const& extents) {
  auto const wanted = bytes_for(type, extents);
  if (values.size() != wanted)
    throw error(errc::invalid_argument,
                fmt::format("{} values for {}{}", values.size() / size_of(type), name_of(type),
                            to_string(extents)));
  auto made = empty(type, extents);
  if (wanted != 0) std::memcpy(made.bytes(), values.data(), wanted);
  return made;
}

tensor tensor::over(std::span<std::byte> values, hocket::dtype type, hocket::shape const& extents,
                    std::shared_ptr<void> owner, bool unowned) {
  if (values.size() != bytes_for(type, extents))
    throw error(errc::invalid_argument,
                fmt::format("{} values for {}{}", values.size() / size_of(type), name_of(type),
                            to_string(extents)));
  auto s = unowned ? hocket::storage::unsafe_borrow(values.data(), values.size(), {})
                   : hocket::storage::borrow(values.data(), values.size(), {}, std::move(owner));
  return from_storage(std::move(s), type, extents);
}

bool tensor::overlaps(tensor const& other) const noexcept {
  if (!defined() || !other.defined()) return false;
  auto const range = [](detail::description const& d) {
    auto const size = static_cast<std::int64_t>(size_of(d.dtype));
    auto const begin = reinterpret_cast<std::uintptr_t>(d.storage->data()) +
                       static_cast<std::uintptr_t>(d.offset * size);
    auto const length = span_of(d.shape, {d.strides.data(), d.shape.size()}) * size;
    return std::pair(begin, begin + static_cast<std::uintptr_t>(length));
  };
  auto const& a = *description_;
  auto const& b = *other.description_;
  if (a.numel == 0 || b.numel == 0 || a.storage->device() != b.storage->device()) return false;
  auto const [a_begin, a_end] = range(a);
  auto const [b_begin, b_end] = range(b);
  return a_begin < b_end && b_begin < a_end;
}

bool tensor::overlaps_itself() const noexcept {
  if (!defined() || description_->contiguous || description_->numel == 0) return false;
  std::array<std::pair<std::int64_t, std::int64_t>, shape::ndim_max> steps{};  // stride, extent
  std::size_t used = 0;
  for (std::size_t i = 0; i < description_->shape.size(); ++i) {
    std::pair const step(description_->strides[i], description_->shape[i]);
    if (step.second == 1) continue;
    auto at = used++;
    for (; at > 0 && steps[at - 1].first > step.first; --at) steps[at] = steps[at - 1];
    steps[at] = step;
  }
  std::int64_t reach = 0;  // of the dimensions with smaller strides
  for (std::size_t i = 0; i < used; ++i) {
    auto const [stride, extent] = steps[i];
    if (stride <= reach) return true;
    reach += (extent - 1) * stride;
  }
  return false;
}

tensor tensor::slice(std::int64_t dim, std::int64_t start, std::int64_t length) const {
  auto const& from = get();
  auto const at = from.shape.dim_index(dim);
  auto const extent = from.shape[at];
  if (start < 0 || length < 0 || start > extent || length > extent - start)
    throw error(errc::invalid_argument,
                fmt::format("slice of {} from {} along dimension {} of {}: its extent is {}",
                            length, start, dim, brief(*this), extent));
  auto d = like(from);
  d->shape.set(at, length);
  d->offset += start * from.strides[at];
  finish(*d);
  return tensor(d.release());
}

tensor tensor::select(std::int64_t dim, std::int64_t index) const {
  auto const& from = get();
  auto const at = from.shape.dim_index(dim);
  auto const extent = from.shape[at];
  if (index < -extent || index >= extent)
    throw error(errc::invalid_argument,
                fmt::format("index {} along dimension {} of {}: its extent is {}", index, dim,
                            brief(*this), extent));
  auto d = like(from);
  d->shape = {};
  d->strides = {};
  for (std::size_t i = 0; i < from.shape.size(); ++i) {
    if (i == at) continue;
    d->strides[d->shape.size()] = from.strides[i];
    d->shape.append(from.shape[i]);
  }
  d->offset += (index < 0 ? index + extent : index) * from.strides[at];
  finish(*d);
  return tensor(d.release());
}

tensor tensor::transpose(std::int64_t dim0, std::int64_t dim1) const {
  auto const& from = get();
  auto const a = from.shape.dim_index(dim0);
  auto const b = from.shape.dim_index(dim1);
  auto d = like(from);
  d->shape.set(a, from.shape[b]);
  d->shape.set(b, from.shape[a]);
  std::swap(d->strides[a], d->strides[b]);
  finish(*d);
  return tensor(d.release());
}

tensor tensor::reshape(hocket::shape const& extents) const {
  auto const& from = get();
  if (extents == from.shape) return *this;
  if (extents.numel() != from.numel)
    throw error(errc::invalid_argument,
                fmt::format("{} has {} elements, shape {} has {}", brief(*this), from.numel,
                            to_string(extents), extents.numel()));
  auto d = like(from);
  d->shape = extents;
  if (!view_strides(from, extents, d->strides))
    throw error(errc::invalid_argument,
                fmt::format("{} with strides {} has no view of shape {}: make it contiguous first",
                            brief(*this), to_string(hocket::shape(strides())), to_string(extents)));
  finish(*d);
  return tensor(d.release());
}

tensor tensor::flatten() const {
  auto const& from = get();
  hocket::shape const flat(from.numel);
  strides_array strides{};
  return view_strides(from, flat, strides) ? reshape(flat) : clone().reshape(flat);
}

tensor tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

tensor tensor::clone() const {
  auto made = empty(dtype(), shape());
  copy(made, *this);
  return made;
}

std::byte* tensor::bytes() const {
  auto const& d = get();
  return d.storage->mutable_data() + d.offset * static_cast<std::int64_t>(size_of(d.dtype));
}

std::byte* tensor::bytes(write_lease const& lease) const {
  auto const& d = get();
  HOCKET_ASSERT(lease.held() == d.storage);
  return lease.data() + d.offset * static_cast<std::int64_t>(size_of(d.dtype));
}

std::byte const* tensor::const_bytes() const {
  auto const& d = get();
  auto const& bytes = *d.storage;
  return bytes.data() + d.offset * static_cast<std::int64_t>(size_of(d.dtype));
}

void tensor::expect_readable_in_order() const {
  detail::expect_host(*this, "as_span");
  if (!is_contiguous())
    throw error(errc::invalid_argument,
                fmt::format("as_span of {} with strides {}: make it contiguous first", brief(*this),
                            to_string(hocket::shape(strides()))));
}

std::byte const* tensor::element_at(std::span<std::int64_t const> index) const {
  auto const& d = get();
  detail::expect_host(*this, "item");
  if (index.size() != d.shape.size())
    throw error(errc::invalid_argument,
                fmt::format("{} indices for {}", index.size(), brief(*this)));
  std::int64_t at = 0;
  for (std::size_t dim = 0; dim < index.size(); ++dim) {
    if (index[dim] < 0 || index[dim] >= d.shape[dim])
      throw error(errc::invalid_argument,
                  fmt::format("index {} along dimension {} of {}: its extent is {}", index[dim],
                              dim, brief(*this), d.shape[dim]));
    at += index[dim] * d.strides[dim];
  }
  return const_bytes() + at * static_cast<std::int64_t>(size_of(d.dtype));
}

bool equal(tensor const& a, tensor const& b) {
  if (!a.defined() || !b.defined()) return a.defined() == b.defined();
  if (a.dtype() != b.dtype() || a.shape() != b.shape()) return false;
  detail::expect_host(a, "equal");
  detail::expect_host(b, "equal");
  auto const x = a.contiguous();
  auto const y = b.contiguous();
  return x.nbytes() == 0 || std::memcmp(x.const_bytes(), y.const_bytes(), x.nbytes()) == 0;
}

std::string brief(tensor const& t) {
  if (!t.defined()) return "undefined";
  return fmt::format("{}{}", name_of(t.dtype()), to_string(t.shape()));
}

}  // namespace hocket
