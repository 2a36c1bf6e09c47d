// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// What the NumPy test calls through ctypes. Functions that fail return null; last_error() says why.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <exception>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/dlpack.hpp>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "../dlpack_layout.hpp"

using namespace hocket;

namespace {

std::string error_text;
std::string description_text;
std::atomic<int> owners_told{0};

template <class F>
auto guarded(F f) -> decltype(f()) {
  try {
    return f();
  } catch (std::exception const& e) {
    error_text = e.what();
    return nullptr;
  }
}

tensor const& of(void const* t) { return *static_cast<tensor const*>(t); }

// Memory that says when it is let go.
tensor counted_arange(dtype type, shape const& extents, std::int64_t start) {
  auto const from = tensor::arange(type, extents, start);
  auto* const memory = new std::vector<std::byte>(std::max<std::size_t>(from.nbytes(), 1));
  std::shared_ptr<void> owner(memory, [](std::vector<std::byte>* m) {
    delete m;
    ++owners_told;
  });
  std::memcpy(memory->data(), from.const_bytes(), from.nbytes());
  return tensor::from_storage(
      storage::borrow(memory->data(), from.nbytes(), device(), std::move(owner)), type, extents);
}

}  // namespace

extern "C" {

char const* last_error() { return error_text.c_str(); }
int owners_let_go() { return owners_told; }

/// start, start + 1, ... in memory that counts when it is let go.
void* make_arange(char const* type, std::int64_t const* extents, int ndim, std::int64_t start) {
  return guarded([&]() -> void* {
    shape const s(std::span(extents, static_cast<std::size_t>(ndim)));
    return new tensor(counted_arange(parse_dtype(type), s, start));
  });
}
void* make_transposed(void const* t, int dim0, int dim1) {
  return guarded([&]() -> void* { return new tensor(of(t).transpose(dim0, dim1)); });
}
void* make_slice(void const* t, int dim, std::int64_t start, std::int64_t length) {
  return guarded([&]() -> void* { return new tensor(of(t).slice(dim, start, length)); });
}
void drop(void* t) { delete static_cast<tensor*>(t); }
void drop_on_another_thread(void* t) {
  std::thread([t] { drop(t); }).join();
}

char const* describe(void const* t) {
  description_text = brief(of(t));
  return description_text.c_str();
}
/// Elements in row-major order, `nbytes` of them in bytes. Null: another size.
void* copy_elements(void const* t, void* out, std::size_t nbytes) {
  return guarded([&]() -> void* {
    auto const all = of(t).contiguous();
    if (all.nbytes() != nbytes)
      throw std::length_error(brief(all) + " is not " + std::to_string(nbytes) + " bytes");
    if (nbytes != 0) std::memcpy(out, all.const_bytes(), nbytes);
    return out;
  });
}
/// Whether the elements are start, start + 1, ... in row-major order.
int is_arange(void const* t, std::int64_t start) {
  return equal(of(t), tensor::arange(of(t).dtype(), of(t).shape(), start)) ? 1 : 0;
}
/// Writes the first byte of the first element, through the tensor.
void set_first_byte(void const* t, int value) { *of(t).bytes() = static_cast<std::byte>(value); }

DLManagedTensor* export_tensor(void const* t) {
  return guarded([&] { return to_dlpack(of(t)); });
}
void* import_tensor(DLManagedTensor* m) {
  return guarded([&]() -> void* { return new tensor(from_dlpack(m)); });
}
/// As a consumer that does not want it after all.
void delete_managed(DLManagedTensor* m) { m->deleter(m); }

}  // extern "C"
