// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>

namespace hocket {

/// The 32 bytes that the processes of one job share and nobody else knows. With it they recognise
/// one another; what they say is not encrypted. Wiped when it is destroyed, never printed.
class launch_secret {
 public:
  /// In bytes.
  static constexpr std::size_t size = 32;

  /// None: peers check job and epoch, but anybody can pretend to be one.
  launch_secret() noexcept = default;
  /// A copy of those bytes.
  explicit launch_secret(std::span<std::byte const, size> bytes) noexcept;
  /// @cond
  launch_secret(launch_secret const&) noexcept = default;
  launch_secret& operator=(launch_secret const&) noexcept = default;
  ~launch_secret();
  /// @endcond

  /// Fresh bytes of the system's generator.
  [[nodiscard]] static launch_secret random();
  /// Reads 32 bytes, or 64 hexadecimal digits and perhaps a newline. `errc::invalid_argument` for
  /// anything else, and for a file that others than its owner (this user or root) may read.
  [[nodiscard]] static launch_secret from_file(std::string const& path);
  /// Reads an inherited descriptor that `to_descriptor` made; it stays open and unmoved.
  /// `errc::invalid_argument` if it is something else.
  [[nodiscard]] static launch_secret from_descriptor(int fd);

  /// A sealed memory file with the secret, which programs started later inherit. The caller closes.
  [[nodiscard]] int to_descriptor() const;

  /// True if there is none.
  [[nodiscard]] bool empty() const noexcept;
  /// All zero if there is none. Not for printing.
  [[nodiscard]] std::span<std::byte const, size> bytes() const noexcept { return bytes_; }

 private:
  std::array<std::byte, size> bytes_{};
};

}  // namespace hocket
