// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <hocket/error.hpp>
#include <hocket/tensor/safetensors.hpp>
#include <string>
#include <string_view>

namespace {

std::string const& right_text() {
  static auto const text = [] {
    hocket::safetensors_header h;
    h.metadata.emplace("format", "pt");
    h.tensors.emplace("a", hocket::stored_tensor{hocket::dtype::f32, hocket::shape(2, 3), 0, 24});
    h.tensors.emplace("b", hocket::stored_tensor{hocket::dtype::bf16, hocket::shape(4), 24, 32});
    return hocket::write_safetensors_header(h).substr(8);
  }();
  return text;
}

}  // namespace

/// What was taken must be written and read again, to the same.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  std::uint64_t const data_bytes = data[0];
  std::string_view const text(reinterpret_cast<char const*>(data) + 1, size - 1);
  hocket::safetensors_header header;
  try {
    header = hocket::parse_safetensors_header(text, data_bytes);
  } catch (hocket::error const& e) {
    if (e.code().category() != hocket::hocket_category()) std::abort();
    return 0;
  }
  auto const again = hocket::write_safetensors_header(header).substr(8);
  auto const second = hocket::parse_safetensors_header(again, data_bytes);
  if (second.metadata != header.metadata || second.tensors.size() != header.tensors.size())
    std::abort();
  for (auto const& [name, t] : header.tensors) {
    auto const& s = second.tensors.at(name);
    if (s.dtype != t.dtype || s.shape != t.shape || s.begin != t.begin || s.end != t.end)
      std::abort();
  }
  return 0;
}

/// Blind mutations seldom find the keys: now and then one starts from a right header.
extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  auto const& right = right_text();
  if (seed % 64 == 0 && size_max > right.size()) {
    data[0] = 32;
    std::memcpy(data + 1, right.data(), right.size());
    size = right.size() + 1;
  }
  return LLVMFuzzerMutate(data, size, size_max);
}
