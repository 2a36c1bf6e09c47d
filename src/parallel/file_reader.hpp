// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace hocket::detail {

/// A piece of a file and where it goes.
class file_piece {
 public:
  std::uint64_t offset = 0;
  std::byte* to = nullptr;
  std::size_t bytes = 0;
};

/// How pieces are read: many at once through io_uring where the kernel permits it, else by one
/// pread after the other.
enum class read_way { best, pread };

/// A regular file, open for reading.
class file_reader {
 public:
  /// A system error, naming the path, if it cannot be opened or is no regular file.
  explicit file_reader(std::filesystem::path path);
  ~file_reader();
  file_reader(file_reader const&) = delete;
  file_reader& operator=(file_reader const&) = delete;

  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }
  [[nodiscard]] std::filesystem::path const& path() const noexcept { return path_; }
  /// Blocks until every piece is read. Says which way it went: "io_uring" or "pread". A file that
  /// has become shorter is `errc::corrupt`.
  std::string_view read(std::span<file_piece const> pieces, read_way way = read_way::best) const;

 private:
  [[noreturn]] void fail(int code, char const* what) const;
  void read_one(file_piece piece) const;
  [[nodiscard]] bool read_by_uring(std::span<file_piece const> pieces) const;

  std::filesystem::path path_;
  int fd_ = -1;
  std::uint64_t size_ = 0;
};

/// Writes a file whole or not at all: under another name first, then to disk, then by its name.
void write_file(std::filesystem::path const& path,
                std::span<std::span<std::byte const> const> parts);

}  // namespace hocket::detail
