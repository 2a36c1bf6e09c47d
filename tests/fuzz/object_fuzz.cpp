// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <hocket/error.hpp>
#include <hocket/group/object.hpp>
#include <map>
#include <object_frames.hpp>
#include <object_sample.hpp>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace {

/// Holds itself, so that inputs can nest past the cap.
struct node {
  std::variant<std::monostate, std::int64_t, std::string, std::vector<node>,
               std::map<std::string, node>, std::vector<std::int16_t>>
      value;
  template <class V>
  friend void hocket_describe(V& v, node& n) {
    v(n.value, "n");
  }
};

/// Decodes; what was taken must encode and decode again.
template <class T>
void try_decode(hocket::parcel const& p) {
  T value;
  try {
    value = hocket::decode_object<T>(p);
  } catch (hocket::error const& e) {
    if (e.code().category() != hocket::hocket_category()) std::abort();
    return;
  }
  auto const again = hocket::encode_object(value);
  if (hocket::encode_object(hocket::decode_object<T>(again)).bytes.nbytes() != again.bytes.nbytes())
    std::abort();
}

template <class T>
void try_both(std::span<std::byte const> bytes, std::vector<hocket::tensor> const& tensors) {
  try_decode<T>(support::parcel_of(bytes, tensors));
  try_decode<T>(support::sealed(bytes, tensors));  // or the CRC would hide the decoder
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static auto const tensors = hocket::encode_object(sample::make_everything()).tensors;
  if (size == 0) return 0;
  auto const bytes = std::as_bytes(std::span(data, size)).subspan(1);
  switch (data[0] % 4) {
    case 0:
      try_both<node>(bytes, {});
      break;
    case 1:
      try_both<sample::everything>(bytes, tensors);
      break;
    case 2:
      try_both<std::map<std::string, std::vector<bool>>>(bytes, {});
      break;
    default:
      try {
        (void)hocket::tensors_of(bytes);
      } catch (hocket::error const&) {
      }
  }
  return 0;
}

/// Blind mutations seldom find field names: now and then one starts from a right sample.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  static auto const whole = support::bytes_of(hocket::encode_object(sample::make_everything()));
  std::size_t const payload = whole.size() - hocket::object_header_bytes;
  if (seed % 64 == 0 && size_max > payload) {
    data[0] = 1;
    std::memcpy(data + 1, whole.data() + hocket::object_header_bytes, payload);
    size = payload + 1;
  }
  return LLVMFuzzerMutate(data, size, size_max);
}
