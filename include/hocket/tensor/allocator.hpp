// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/tensor/storage.hpp>
#include <memory>

namespace hocket {

/// Where storages get their bytes. Every member may be called from any thread.
/// An allocator made by `std::make_shared` lives until its last storage is gone; any other must
/// outlive its storages.
class allocator : public std::enable_shared_from_this<allocator> {
 public:
  virtual ~allocator() = default;

  /// At least `bytes`, aligned to 64, not cleared; never null. Throws errc::out_of_memory, or
  /// std::bad_alloc for small ones.
  [[nodiscard]] virtual memory_block allocate(std::size_t bytes) = 0;
  /// Takes a block back, with what the device layer knows of its last use.
  virtual void deallocate(memory_block const& block,
                          std::unique_ptr<device_marks> marks) noexcept = 0;
  /// What its blocks are in the memory of.
  [[nodiscard]] virtual hocket::device device() const noexcept = 0;
};

/// Of one allocator, at one moment.
struct allocator_stats {
  std::size_t bytes_live = 0;    ///< reserved by storages
  std::size_t bytes_pooled = 0;  ///< free blocks above 1 KiB, kept for reuse
};

/// Host memory, pooled by size. Blocks from 2 MiB up are private mappings aligned to 2 MiB that
/// ask for huge pages; touching a fresh page costs more than copying it, so they are kept.
/// In sanitizer builds nothing is pooled.
class host_memory final : public allocator {
 public:
  host_memory();
  /// With pooling or without, whatever the build.
  explicit host_memory(bool pooling);
  ~host_memory() override;

  [[nodiscard]] memory_block allocate(std::size_t bytes) override;
  void deallocate(memory_block const& block, std::unique_ptr<device_marks> marks) noexcept override;
  /// The host.
  [[nodiscard]] hocket::device device() const noexcept override { return {}; }

  /// Gives pooled memory back to the system.
  void trim() noexcept;
  /// The most bytes kept for reuse: by default 2 GiB or a quarter of the machine's memory.
  void set_pool_limit(std::size_t bytes) noexcept;
  /// Of this moment; other threads may change it at once.
  [[nodiscard]] allocator_stats stats() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// The process's default allocator; it is never destroyed.
[[nodiscard]] host_memory& host_allocator();

/// Memory of one file without a name that other processes can map: a storage's `block()` tells
/// the file and the place. The capacity is reserved, not committed: pages are taken when touched.
class memfd_allocator final : public allocator {
 public:
  /// Throws a system error when the file cannot be made or mapped.
  explicit memfd_allocator(std::size_t capacity_bytes);
  ~memfd_allocator() override;

  [[nodiscard]] memory_block allocate(std::size_t bytes) override;
  void deallocate(memory_block const& block, std::unique_ptr<device_marks> marks) noexcept override;
  /// The host.
  [[nodiscard]] hocket::device device() const noexcept override { return {}; }

  /// Of the file; it stays the allocator's own.
  [[nodiscard]] int fd() const noexcept;
  /// In bytes; at least what was asked for.
  [[nodiscard]] std::size_t capacity() const noexcept;
  /// Counted as those of `host_memory`.
  [[nodiscard]] allocator_stats stats() const noexcept;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace hocket
