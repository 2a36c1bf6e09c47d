// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <hocket/tensor/dtype.hpp>
#include <hocket/tensor/shape.hpp>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace hocket {

// The safetensors format: a little-endian u64, the length of a JSON header, the header, then the
// tensors' bytes without a hole (https://github.com/huggingface/safetensors, "Format").

/// One tensor of a file.
struct stored_tensor {
  /// Of its elements.
  hocket::dtype dtype = dtype::u8;
  /// Row-major.
  hocket::shape shape;
  std::uint64_t begin = 0;  ///< of its bytes, from the end of the header
  std::uint64_t end = 0;    ///< behind its last byte
};

/// What a file's header says.
struct safetensors_header {
  /// By name.
  std::map<std::string, stored_tensor, std::less<>> tensors;
  /// The strings under "__metadata__".
  std::map<std::string, std::string, std::less<>> metadata;
};

/// The format's own cap on the header's text.
inline constexpr std::uint64_t safetensors_header_max = 100'000'000;

/// Reads a header's text, which may be hostile: of a file whose tensors have `data_bytes` bytes.
/// `errc::corrupt`, with the place or name and the numbers, for text that is no such JSON object, a
/// name given twice, invalid UTF-8, offsets that leave the file, do not fit dtype and shape,
/// overlap or leave holes; `errc::unsupported` for a dtype that this library has not, or more than
/// 8 dimensions; `errc::too_large` past the cap. Time and memory are bounded by the text.
[[nodiscard]] safetensors_header parse_safetensors_header(std::string_view text,
                                                          std::uint64_t data_bytes);

/// The length and the header's text for tensors with these offsets, padded with spaces to a
/// multiple of 8. What it writes parses to the same. Offsets are as given; `errc::unsupported` for
/// dtypes that the format has not (c128), `errc::invalid_argument` for a name or text that is not
/// UTF-8 or a tensor called "__metadata__".
[[nodiscard]] std::string write_safetensors_header(safetensors_header const& header);

}  // namespace hocket
