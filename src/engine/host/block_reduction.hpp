// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <hocket/group/fingerprint.hpp>
#include <hocket/tensor/tensor.hpp>
#include <vector>

#include "fabric.hpp"

namespace hocket::host {

/// One member's elements of a reduction: in this process, or where they can be fetched.
struct operand {
  std::byte const* here = nullptr;
  int peer = -1;  ///< else: the rank in the world, and the bytes of its exposure
  std::uint64_t exposure = 0;
  std::uint64_t offset = 0;
  std::uint64_t address = 0;  ///< of those bytes in the peer's memory
  std::uint32_t seal = 0;     ///< the peer's then
  tensor fetched;             ///< holds them once a peer has sent them
};

/// Reduces the operands, in their order, while it reads them: a block of each, then the next, so
/// that what is read is reduced out of the cache. Where a peer's memory cannot be read, its bytes
/// are fetched first.
class block_reduction final : public chore, private arrival {
 public:
  /// `print` and `to` must live until `then` hears. `to` may be the operand that is here.
  block_reduction(fabric& net, fingerprint const& print, std::vector<double> factors,
                  std::vector<operand> operands, std::byte* to, std::int64_t count, arrival& then);

  /// One bounded turn; ends with `then.came`, after which this may be gone. To be called by whoever
  /// drives the fabric; it goes on by itself.
  bool step() noexcept override;
  /// Ends it with `why`, soon. On the thread that drives the fabric.
  void abort(detail::failure const& why) noexcept;

 private:
  void came(detail::failure const& f) noexcept override;
  /// False: it cannot be read.
  bool read_block(std::int64_t n);
  void fetch_all();
  [[nodiscard]] bool is_readable() const;

  fabric& net_;
  fingerprint const& print_;
  std::vector<double> const factors_;
  std::vector<operand> operands_;
  std::byte* const to_;
  std::int64_t const count_;
  arrival& then_;
  std::int64_t block_ = 0;  // elements read at once
  std::int64_t done_ = 0;   // elements
  std::vector<tensor> staged_;
  std::vector<std::byte const*> from_;
  int left_ = 0;  // fetches under way
  bool begun_ = false;
  detail::failure failure_;
};

}  // namespace hocket::host
