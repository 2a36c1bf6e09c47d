// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <hocket/detail/block_pool.hpp>
#include <hocket/tensor/allocator.hpp>
#include <hocket/tensor/device.hpp>
#include <hocket/tensor/dtype.hpp>
#include <hocket/tensor/shape.hpp>
#include <hocket/tensor/storage.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace hocket {
namespace detail {

/// What a tensor is; never changed once a tensor points to it.
struct description : pooled {
  mutable std::atomic<std::uint32_t> refs{0};
  hocket::dtype dtype = dtype::u8;
  bool contiguous = true;
  hocket::shape shape;
  std::array<std::int64_t, hocket::shape::ndim_max> strides{};  // in elements, never negative
  std::int64_t offset = 0;                                      // in elements
  std::int64_t numel = 1;
  storage_ptr storage;

  friend void intrusive_ptr_add_ref(description const* d) noexcept {
    d->refs.fetch_add(1, std::memory_order_relaxed);
  }
  friend void intrusive_ptr_release(description const* d) noexcept {
    if (d->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) delete d;
  }
};

}  // namespace detail

/// A strided view of shared storage. Copying a tensor makes another reference, never a copy of
/// elements; a tensor made by default is undefined. Views and copies of handles do not allocate in
/// steady state.
///
/// Functions that need a defined tensor throw errc::invalid_argument for an undefined one;
/// dimensions may count from the back; wrong ones are errc::invalid_argument with the numbers.
/// Functions that touch elements work on host tensors and throw errc::unsupported for others.
/// Threads: a tensor object is a value; the elements are not guarded.
class tensor {
 public:
  tensor() noexcept = default;
  /// @{
  /// Copies are the same tensor: they share the description and the storage.
  tensor(tensor const&) noexcept = default;
  tensor(tensor&&) noexcept = default;
  tensor& operator=(tensor const&) noexcept = default;
  tensor& operator=(tensor&&) noexcept = default;
  /// @}
  ~tensor() = default;

  // --- making ---
  /// Elements are not cleared.
  [[nodiscard]] static tensor empty(hocket::dtype type, hocket::shape const& extents,
                                    allocator& from = host_allocator());
  /// Every bit is zero. Host memory of the default allocator.
  [[nodiscard]] static tensor zeros(hocket::dtype type, hocket::shape const& extents);
  /// Every element is `value`, rounded to the dtype; an integer that does not fit is
  /// errc::invalid_argument.
  [[nodiscard]] static tensor full(hocket::dtype type, hocket::shape const& extents,
                                   long double value);
  /// Element i is start + i in row-major order: integers wrap, floats round, bool is odd or not.
  [[nodiscard]] static tensor arange(hocket::dtype type, hocket::shape const& extents,
                                     std::int64_t start = 0);
  /// A copy of `values`, one for each element of `extents`.
  template <element T>
  [[nodiscard]] static tensor from(std::span<T const> values, hocket::shape const& extents) {
    return copy_of(std::as_bytes(values), dtype_of<T>, extents);
  }
  /// Shares the caller's memory; `owner` is let go with the last reference.
  template <element T>
  [[nodiscard]] static tensor borrow(std::span<T> values, hocket::shape const& extents,
                                     std::shared_ptr<void> owner) {
    return over(std::as_writable_bytes(values), dtype_of<T>, extents, std::move(owner), false);
  }
  /// Shares memory that the caller keeps alive: waits for ops on it end only after `released()`.
  template <element T>
  [[nodiscard]] static tensor unsafe_borrow(std::span<T> values, hocket::shape const& extents) {
    return over(std::as_writable_bytes(values), dtype_of<T>, extents, nullptr, true);
  }
  /// A contiguous view of `bytes` from `offset` (in elements) on.
  [[nodiscard]] static tensor from_storage(storage_ptr bytes, hocket::dtype type,
                                           hocket::shape const& extents, std::int64_t offset = 0);
  /// A view with its own strides (in elements, none negative) that must stay inside `bytes`.
  [[nodiscard]] static tensor from_storage(storage_ptr bytes, hocket::dtype type,
                                           hocket::shape const& extents,
                                           std::span<std::int64_t const> strides,
                                           std::int64_t offset);

  // --- asking ---
  /// False for a default-made tensor; every other question about one is `errc::invalid_argument`.
  [[nodiscard]] bool defined() const noexcept { return description_ != nullptr; }
  /// Of every element.
  [[nodiscard]] hocket::dtype dtype() const { return get().dtype; }
  /// Valid as long as a copy of this tensor.
  [[nodiscard]] hocket::shape const& shape() const { return get().shape; }
  /// The extent of one dimension.
  [[nodiscard]] std::int64_t size(std::int64_t dim) const {
    return get().shape[get().shape.dim_index(dim)];
  }
  /// In elements, one for each dimension.
  [[nodiscard]] std::span<std::int64_t const> strides() const {
    return {get().strides.data(), get().shape.size()};
  }
  /// Of the first element in the storage, in elements.
  [[nodiscard]] std::int64_t storage_offset() const { return get().offset; }
  /// Number of dimensions; 0 for a scalar.
  [[nodiscard]] std::size_t ndim() const { return get().shape.size(); }
  /// Number of elements; 1 for a scalar.
  [[nodiscard]] std::int64_t numel() const { return get().numel; }
  /// numel() elements' worth, whatever the strides.
  [[nodiscard]] std::size_t nbytes() const {
    return static_cast<std::size_t>(get().numel) * size_of(get().dtype);
  }
  /// Of its storage.
  [[nodiscard]] hocket::device device() const { return get().storage->device(); }
  /// Whether the elements lie in row-major order without gaps.
  [[nodiscard]] bool is_contiguous() const { return get().contiguous; }
  /// Whether nobody here holds the bytes: the caller keeps them alive (`unsafe_borrow`).
  [[nodiscard]] bool is_unowned() const { return get().storage->is_unowned(); }
  /// Shared with every view of it.
  [[nodiscard]] storage_ptr const& storage() const { return get().storage; }
  /// Whether an op reads or writes the storage now.
  [[nodiscard]] bool leased() const { return get().storage->leased(); }

  /// The same tensor, not only an equal one: copies of one handle. Two undefined ones are, too.
  [[nodiscard]] bool same_object(tensor const& other) const noexcept {
    return description_ == other.description_;
  }
  /// Whether the two are views of one storage; their elements need not meet.
  [[nodiscard]] bool shares_storage(tensor const& other) const noexcept {
    return defined() && other.defined() && description_->storage == other.description_->storage;
  }
  /// Whether the address ranges from first to last element meet; interleaved views count.
  [[nodiscard]] bool overlaps(tensor const& other) const noexcept;
  /// Whether two indices may mean one address, as in a view with a stride of 0 (strides that
  /// interleave count). Such a tensor can be read; writing to it is errc::invalid_argument.
  [[nodiscard]] bool overlaps_itself() const noexcept;

  // --- views and copies ---
  /// A view of `length` indices of one dimension, from `start`; `errc::invalid_argument` where some
  /// are outside. A negative `dim` counts from the back.
  [[nodiscard]] tensor slice(std::int64_t dim, std::int64_t start, std::int64_t length) const;
  /// One index of a dimension, which goes away. A negative index counts from the back.
  [[nodiscard]] tensor select(std::int64_t dim, std::int64_t index) const;
  /// A view with two dimensions exchanged. Negative ones count from the back.
  [[nodiscard]] tensor transpose(std::int64_t dim0, std::int64_t dim1) const;
  /// A view with other extents; errc::invalid_argument when the strides allow none.
  [[nodiscard]] tensor reshape(hocket::shape const& extents) const;
  /// One dimension: a view where possible, else a copy.
  [[nodiscard]] tensor flatten() const;
  /// Itself when contiguous, else a contiguous copy.
  [[nodiscard]] tensor contiguous() const;
  /// A contiguous copy with storage of its own.
  [[nodiscard]] tensor clone() const;

  // --- elements ---
  /// The first element, for writing. Checked builds assert that no op holds a lease.
  [[nodiscard]] std::byte* bytes() const;
  /// The first element, for the holder of a lease on this storage.
  [[nodiscard]] std::byte* bytes(write_lease const& lease) const;
  /// The first element, for reading; also while ops read the storage.
  [[nodiscard]] std::byte const* const_bytes() const;
  /// As above, typed; another dtype is errc::invalid_argument.
  template <element T>
  [[nodiscard]] T* data() const {
    expect(dtype_of<T>);
    return reinterpret_cast<T*>(bytes());
  }
  /// As above, typed; another dtype is errc::invalid_argument.
  template <element T>
  [[nodiscard]] T const* const_data() const {
    expect(dtype_of<T>);
    return reinterpret_cast<T const*>(const_bytes());
  }
  /// All elements of a contiguous host tensor, in row-major order.
  template <element T>
  [[nodiscard]] std::span<T const> as_span() const {
    expect_readable_in_order();
    return {const_data<T>(), static_cast<std::size_t>(numel())};
  }
  /// One element of a host tensor; one index for each dimension, none for a scalar.
  template <element T, std::integral... Index>
  [[nodiscard]] T item(Index... index) const {
    expect(dtype_of<T>);
    std::array<std::int64_t, sizeof...(Index)> const at{static_cast<std::int64_t>(index)...};
    return *reinterpret_cast<T const*>(element_at(at));
  }

  /// Exchanges what the two names mean; no bytes move.
  friend void swap(tensor& a, tensor& b) noexcept { a.description_.swap(b.description_); }

 private:
  using description_ptr = boost::intrusive_ptr<detail::description const>;
  explicit tensor(detail::description* d) noexcept : description_(d) {}

  detail::description const& get() const {
    if (!description_) [[unlikely]]
      undefined();
    return *description_;
  }
  [[noreturn]] static void undefined();
  static tensor copy_of(std::span<std::byte const> values, hocket::dtype type,
                        hocket::shape const& extents);
  static tensor over(std::span<std::byte> values, hocket::dtype type, hocket::shape const& extents,
                     std::shared_ptr<void> owner, bool unowned);
  void expect(hocket::dtype type) const {
    if (get().dtype != type) [[unlikely]]
      wrong_dtype(type);
  }
  [[noreturn]] void wrong_dtype(hocket::dtype type) const;
  void expect_readable_in_order() const;
  std::byte const* element_at(std::span<std::int64_t const> index) const;

  description_ptr description_;
};

/// Same dtype, same shape, same bits; strides do not matter. Two undefined tensors are equal.
[[nodiscard]] bool equal(tensor const& a, tensor const& b);

/// "f32[2,12,4]", for messages; "undefined".
[[nodiscard]] std::string brief(tensor const& t);

}  // namespace hocket
