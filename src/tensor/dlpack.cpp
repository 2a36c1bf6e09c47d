// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <array>
#include <hocket/error.hpp>
#include <hocket/tensor/dlpack.hpp>
#include <memory>
#include <utility>

namespace hocket {
namespace {

// The C layout of a DLPack tensor, as https://dmlc.github.io/dlpack/latest/c_api.html gives it.
struct dl_device {
  std::int32_t type;
  std::int32_t id;
};
struct dl_type {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct dl_tensor {
  void* data;
  dl_device device;
  std::int32_t ndim;
  dl_type type;
  std::int64_t* shape;
  std::int64_t* strides;  // in elements; null for row-major order
  std::uint64_t byte_offset;
};
struct dl_managed {
  dl_tensor tensor;
  void* context;
  void (*deleter)(dl_managed*);
};

constexpr std::int32_t dl_cpu = 1;
constexpr std::int32_t dl_cuda = 2;
constexpr std::int32_t dl_cuda_host = 3;  // pinned host memory

struct type_row {
  dtype ours;
  std::uint8_t code;
  std::uint8_t bits;
};
constexpr std::array<type_row, dtype_count> types{{
    {dtype::boolean, 6, 8},
    {dtype::u8, 1, 8},
    {dtype::i8, 0, 8},
    {dtype::i16, 0, 16},
    {dtype::u16, 1, 16},
    {dtype::i32, 0, 32},
    {dtype::u32, 1, 32},
    {dtype::i64, 0, 64},
    {dtype::u64, 1, 64},
    {dtype::f16, 2, 16},
    {dtype::bf16, 4, 16},
    {dtype::f32, 2, 32},
    {dtype::f64, 2, 64},
    {dtype::c64, 5, 64},
    {dtype::c128, 5, 128},
    {dtype::f8e4m3, 10, 8},
    {dtype::f8e5m2, 12, 8},
}};

struct exported {
  dl_managed managed{};
  tensor held;
  std::array<std::int64_t, shape::ndim_max> extents{};
  std::array<std::int64_t, shape::ndim_max> strides{};
};

// Calls the producer's deleter once: when told to, else when the last holder lets go.
class imported {
 public:
  imported() = default;
  imported(imported const&) = delete;
  imported& operator=(imported const&) = delete;
  ~imported() { finish(); }

  void adopt(dl_managed* managed) noexcept { managed_ = managed; }
  void finish() noexcept {
    auto* const managed = std::exchange(managed_, nullptr);
    if (managed != nullptr && managed->deleter != nullptr) managed->deleter(managed);
  }

 private:
  dl_managed* managed_ = nullptr;
};

// Owned by the storage: when that goes, the import goes to the place where its deleter may run.
// A runner that throws or forgets lets go of the closure, and with it of the import.
class courier {
 public:
  courier(std::shared_ptr<imported> held, deleter_runner run)
      : held_(std::move(held)), run_(std::move(run)) {}
  courier(courier const&) = delete;
  courier& operator=(courier const&) = delete;
  ~courier() {
    if (!run_ || !held_) return;
    try {
      run_([held = std::move(held_)] { held->finish(); });
    } catch (...) {  // the closure is gone, so the deleter has run
    }
  }

 private:
  std::shared_ptr<imported> held_;
  deleter_runner run_;
};

dtype dtype_from(dl_type t) {
  for (auto const& row : types)
    if (row.code == t.code && row.bits == t.bits && t.lanes == 1) return row.ours;
  throw error(errc::unsupported,
              fmt::format("DLPack type code {}, {} bits, {} lanes", t.code, t.bits, t.lanes));
}

device device_from(dl_device d) {
  if (d.type == dl_cpu || d.type == dl_cuda_host) return {};
  if (d.type == dl_cuda) return {device_kind::cuda, d.id};
  throw error(errc::unsupported, fmt::format("DLPack device type {}, id {}", d.type, d.id));
}

// Elements that the storage must have, from the first to the last.
std::int64_t reach(shape const& extents, std::int64_t const* strides) {
  if (strides == nullptr) return extents.numel();
  std::int64_t last = 0;
  for (std::size_t dim = 0; dim < extents.size(); ++dim) {
    if (extents[dim] == 0) return 0;
    std::int64_t step = 0;
    if (strides[dim] < 0)
      throw error(errc::unsupported,
                  fmt::format("DLPack stride {} of dimension {} is negative", strides[dim], dim));
    if (__builtin_mul_overflow(extents[dim] - 1, strides[dim], &step) ||
        __builtin_add_overflow(last, step, &last) || last == INT64_MAX)
      throw error(errc::too_large, fmt::format("DLPack stride {} of dimension {} of shape {}",
                                               strides[dim], dim, to_string(extents)));
  }
  return last + 1;
}

}  // namespace

DLManagedTensor* to_dlpack(tensor const& t) {
  auto const& extents = t.shape();
  if (t.leased())
    throw error(errc::leased,
                fmt::format("{} is held by {} readers and {} writers: await released() first",
                            brief(t), t.storage()->readers(), t.storage()->writers()));
  auto made = std::make_unique<exported>();
  made->held = t;
  std::copy(extents.begin(), extents.end(), made->extents.begin());
  std::copy(t.strides().begin(), t.strides().end(), made->strides.begin());
  auto const& row = types[static_cast<std::size_t>(t.dtype())];
  auto const where = t.device();
  auto& m = made->managed;
  m.tensor.data = const_cast<std::byte*>(t.const_bytes());
  m.tensor.device = {where.is_host() ? dl_cpu : dl_cuda, where.index};
  m.tensor.ndim = static_cast<std::int32_t>(extents.size());
  m.tensor.type = {row.code, row.bits, 1};
  m.tensor.shape = made->extents.data();
  m.tensor.strides = made->strides.data();
  m.context = made.get();
  m.deleter = [](dl_managed* self) { delete static_cast<exported*>(self->context); };
  return reinterpret_cast<DLManagedTensor*>(&made.release()->managed);
}

tensor from_dlpack(DLManagedTensor* managed, deleter_runner run_deleter) {
  if (managed == nullptr) throw error(errc::invalid_argument, "no DLPack tensor (null)");
  auto* const m = reinterpret_cast<dl_managed*>(managed);
  auto const& from = m->tensor;
  auto const type = dtype_from(from.type);
  auto const where = device_from(from.device);
  if (from.ndim < 0 || from.ndim > static_cast<std::int32_t>(shape::ndim_max))
    throw error(errc::unsupported, fmt::format("DLPack tensor of {} dimensions, at most {}",
                                               from.ndim, shape::ndim_max));
  shape const extents(
      std::span<std::int64_t const>(from.shape, static_cast<std::size_t>(from.ndim)));
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(reach(extents, from.strides), static_cast<std::int64_t>(size_of(type)),
                             &bytes))
    throw error(errc::too_large,
                fmt::format("DLPack tensor {}{}", name_of(type), to_string(extents)));
  auto* const data = static_cast<std::byte*>(from.data) + from.byte_offset;
  bool const is_complex = type == dtype::c64 || type == dtype::c128;
  auto const alignment = is_complex ? size_of(type) / 2 : size_of(type);
  if (bytes != 0 &&
      (from.data == nullptr || reinterpret_cast<std::uintptr_t>(data) % alignment != 0))
    throw error(errc::invalid_argument,
                fmt::format("DLPack data {} + {} is null or not aligned to {} bytes", from.data,
                            from.byte_offset, alignment));

  auto import = std::make_shared<imported>();
  auto owner = std::make_shared<courier>(import, std::move(run_deleter));
  auto s = storage::borrow(data, static_cast<std::size_t>(bytes), where, std::move(owner));
  auto made = from.strides == nullptr ? tensor::from_storage(std::move(s), type, extents)
                                      : tensor::from_storage(std::move(s), type, extents,
                                                             {from.strides, extents.size()}, 0);
  import->adopt(m);  // from here on nothing fails
  return made;
}

}  // namespace hocket
