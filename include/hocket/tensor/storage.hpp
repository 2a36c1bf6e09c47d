// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <atomic>
#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <cstddef>
#include <cstdint>
#include <hocket/detail/block_pool.hpp>
#include <hocket/tensor/device.hpp>
#include <memory>

namespace hocket {

class allocator;
class storage;
/// Shared ownership; the count may change on any thread.
using storage_ptr = boost::intrusive_ptr<storage>;

/// What the device layer remembers of a storage: the marks of its last write and reads.
/// This layer owns it and never looks inside.
class device_marks {
 public:
  virtual ~device_marks() = default;
};

/// Bytes handed out by an allocator.
struct memory_block {
  /// The first byte.
  std::byte* data = nullptr;
  std::size_t bytes = 0;     ///< as asked for
  std::size_t capacity = 0;  ///< as reserved
  int fd = -1;               ///< of the memory file when other processes can map it
  std::uint64_t offset = 0;  ///< in that file
};

/// Bytes that tensors share: ref-counted, with an owner that is let go with the last reference.
/// Ops hold leases on it while they read or write, so that host code can tell whether it may.
/// All members may be called from any thread; the bytes themselves are not guarded.
class storage : private detail::pooled {
 public:
  /// New bytes, not cleared. Throws as the allocator does.
  [[nodiscard]] static storage_ptr allocate(allocator& from, std::size_t bytes);
  /// Existing bytes. `owner` is let go with the last reference, on the thread that drops it; the
  /// references of an operation are dropped on its group's executor.
  [[nodiscard]] static storage_ptr borrow(std::byte* data, std::size_t bytes, device where,
                                          std::shared_ptr<void> owner);
  /// Existing bytes that the caller keeps alive by other means.
  [[nodiscard]] static storage_ptr unsafe_borrow(std::byte* data, std::size_t bytes, device where);

  storage(storage const&) = delete;
  storage& operator=(storage const&) = delete;

  /// Bytes, as asked for.
  [[nodiscard]] std::size_t size() const noexcept { return block_.bytes; }
  /// Where the bytes are.
  [[nodiscard]] hocket::device device() const noexcept { return device_; }
  /// Whether nobody here holds the bytes: the caller keeps them alive (`unsafe_borrow`).
  [[nodiscard]] bool is_unowned() const noexcept { return unowned_; }
  /// Whether these are borrowed bytes whose owner is told when they are let go.
  [[nodiscard]] bool has_owner() const noexcept { return allocator_ == nullptr && owner_; }
  /// Drops one reference, unless it is the last one: that comes back, for the caller to drop where
  /// the owner may be called.
  [[nodiscard]] static storage_ptr drop_unless_last(storage_ptr s) noexcept;
  /// The memory file and place, for engines that share memory with other processes; fd -1 if none.
  [[nodiscard]] memory_block const& block() const noexcept { return block_; }

  /// For reading, also while ops read them.
  [[nodiscard]] std::byte const* data() const noexcept { return block_.data; }
  /// For writing. Checked builds assert that no op holds a lease.
  [[nodiscard]] std::byte* mutable_data() noexcept;

  /// Whether an op reads or writes these bytes now.
  [[nodiscard]] bool leased() const noexcept { return readers() + writers() != 0; }
  /// Read leases that are held now.
  [[nodiscard]] std::uint32_t readers() const noexcept {
    return readers_.load(std::memory_order_acquire);
  }
  /// Write leases that are held now.
  [[nodiscard]] std::uint32_t writers() const noexcept {
    return writers_.load(std::memory_order_acquire);
  }

  /// Set once, before the storage is shared between threads.
  void set_marks(std::unique_ptr<device_marks> marks) noexcept { marks_ = std::move(marks); }
  /// What the device layer knows of the last use; null on the host.
  [[nodiscard]] device_marks* marks() const noexcept { return marks_.get(); }

 private:
  template <bool Writes>
  friend class lease;
  using pooled::operator delete;
  using pooled::operator new;

  storage() = default;
  ~storage();
  friend void intrusive_ptr_add_ref(storage* s) noexcept {
    s->refs_.fetch_add(1, std::memory_order_relaxed);
  }
  friend void intrusive_ptr_release(storage* s) noexcept {
    if (s->refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) delete s;
  }

  std::atomic<std::uint32_t> refs_{0};
  std::atomic<std::uint32_t> readers_{0};
  std::atomic<std::uint32_t> writers_{0};
  hocket::device device_;
  bool unowned_ = false;
  memory_block block_;
  allocator* allocator_ = nullptr;
  std::shared_ptr<void> owner_;  // of borrowed bytes, or the allocator when it is shared
  std::unique_ptr<device_marks> marks_;
};

/// Held by an op while it reads or writes a storage. Keeps the storage alive; never allocates.
/// Any number of either kind may be held at once: leases inform, ops order themselves.
template <bool Writes>
class lease {
 public:
  lease() noexcept = default;
  /// From now on until it is reset, moved from or destroyed.
  explicit lease(storage_ptr s) noexcept : storage_(std::move(s)) {
    if (storage_) counter().fetch_add(1, std::memory_order_relaxed);
  }
  /// @{
  /// The lease moves; `other` holds none.
  lease(lease&& other) noexcept : storage_(std::move(other.storage_)) {}
  lease& operator=(lease&& other) noexcept {
    /// @}
    if (this != &other) {
      release();
      storage_ = std::move(other.storage_);
    }
    return *this;
  }
  ~lease() { release(); }

  /// Ends the lease early; no effect when there is none.
  void release() noexcept { static_cast<void>(end()); }
  /// The same, but hands the reference to the storage over to the caller.
  [[nodiscard]] storage_ptr end() noexcept {
    if (storage_) counter().fetch_sub(1, std::memory_order_release);
    return std::move(storage_);
  }
  /// Whether it holds anything.
  [[nodiscard]] explicit operator bool() const noexcept { return storage_ != nullptr; }
  /// Null if it holds nothing.
  [[nodiscard]] storage_ptr const& held() const noexcept { return storage_; }
  /// The leased bytes, for the holder to write; the lease must not be empty.
  [[nodiscard]] std::byte* data() const noexcept requires Writes { return storage_->block_.data; }

 private:
  std::atomic<std::uint32_t>& counter() const noexcept {
    return Writes ? storage_->writers_ : storage_->readers_;
  }

  storage_ptr storage_;
};

/// Others may read at the same time.
using read_lease = lease<false>;
/// Nobody else may touch the bytes.
using write_lease = lease<true>;

}  // namespace hocket
