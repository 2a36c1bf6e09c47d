// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/detail/assert.hpp>
#include <hocket/tensor/allocator.hpp>
#include <hocket/tensor/storage.hpp>

namespace hocket {

storage_ptr storage::allocate(allocator& from, std::size_t bytes) {
  storage_ptr s(new storage);
  s->device_ = from.device();
  s->block_ = from.allocate(bytes);
  s->allocator_ = &from;
  s->owner_ = from.weak_from_this().lock();
  return s;
}

storage_ptr storage::borrow(std::byte* data, std::size_t bytes, hocket::device where,
                            std::shared_ptr<void> owner) {
  storage_ptr s(new storage);
  s->device_ = where;
  s->block_.data = data;
  s->block_.bytes = s->block_.capacity = bytes;
  s->owner_ = std::move(owner);
  return s;
}

storage_ptr storage::unsafe_borrow(std::byte* data, std::size_t bytes, hocket::device where) {
  auto s = borrow(data, bytes, where, nullptr);
  s->unowned_ = true;
  return s;
}

storage_ptr storage::drop_unless_last(storage_ptr s) noexcept {
  storage* const raw = s.detach();
  if (raw == nullptr || raw->refs_.fetch_sub(1, std::memory_order_acq_rel) != 1) return nullptr;
  return raw;  // nobody else can see it any more: a first reference again
}

storage::~storage() {
  HOCKET_ASSERT(readers_.load(std::memory_order_relaxed) == 0);
  HOCKET_ASSERT(writers_.load(std::memory_order_relaxed) == 0);
  if (allocator_ != nullptr) allocator_->deallocate(block_, std::move(marks_));
}

std::byte* storage::mutable_data() noexcept {
  HOCKET_ASSERT(!leased());
  return block_.data;
}

}  // namespace hocket
