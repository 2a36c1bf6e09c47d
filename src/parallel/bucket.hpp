// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <hocket/parallel/model_states.hpp>
#include <hocket/tensor/tensor.hpp>
#include <vector>

namespace hocket::detail {

/// Bytes that travel together: whole tensors packed one behind the other, or some bytes of one that
/// is contiguous, from and to where they lie.
class bucket {
 public:
  /// A whole tensor; or, alone in its bucket, some bytes of a contiguous one.
  void add(tensor const& t, std::size_t start, std::size_t bytes);
  [[nodiscard]] std::size_t bytes() const noexcept { return bytes_; }
  /// What travels, as bytes; `filled`: with the tensors' content.
  [[nodiscard]] tensor pack(bool filled);
  /// Writes what came into the tensors.
  void unpack();

 private:
  class piece {
   public:
    tensor of;
    std::size_t start = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] bool lies_in_place() const;

  std::vector<piece> pieces_;
  std::size_t bytes_ = 0;
  tensor packed_;
};

/// Parameters, then buffers, each in the order of the names, in buckets of at most `bytes_max`.
[[nodiscard]] std::vector<bucket> buckets_of(model_states const& states, std::size_t bytes_max);

}  // namespace hocket::detail
