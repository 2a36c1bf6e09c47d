// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

// DLPack's structs: from its own header where it is installed, which checks our layout against the
// original, else written out here.
#if __has_include(<dlpack/dlpack.h>)
#include <dlpack/dlpack.h>
#else
#include <cstdint>

struct DLDevice {
  std::int32_t device_type;
  std::int32_t device_id;
};
struct DLDataType {
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
#endif

inline int device_type(DLTensor const& t) { return static_cast<int>(t.device.device_type); }

inline void set_device(DLTensor& t, int type, int id) {
  t.device.device_type = static_cast<decltype(t.device.device_type)>(type);
  t.device.device_id = id;
}

inline void set_type(DLTensor& t, int code, int bits, int lanes) {
  t.dtype.code = static_cast<decltype(t.dtype.code)>(code);
  t.dtype.bits = static_cast<decltype(t.dtype.bits)>(bits);
  t.dtype.lanes = static_cast<decltype(t.dtype.lanes)>(lanes);
}
