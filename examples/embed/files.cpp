// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cerrno>
#include <hocket/error.hpp>
#include <limits>
#include <utility>

namespace embed {
namespace {

[[noreturn]] void throw_system_error(int number, std::string_view what,
                                     std::filesystem::path const& path) {
  boost::system::error_code const code(number, boost::system::system_category());
  throw hocket::error(code, fmt::format("{} {}: {}", what, path.string(), code.message()));
}

class descriptor {
 public:
  explicit descriptor(std::filesystem::path const& path)
      : fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (fd_ < 0) throw_system_error(errno, "cannot open", path);
  }
  descriptor(descriptor const&) = delete;
  descriptor& operator=(descriptor const&) = delete;
  ~descriptor() { ::close(fd_); }

  [[nodiscard]] int get() const noexcept { return fd_; }

 private:
  int fd_;
};

}  // namespace

mapped_file::mapped_file(std::filesystem::path const& path) {
  descriptor const file(path);
  struct stat facts = {};
  if (::fstat(file.get(), &facts) != 0) throw_system_error(errno, "cannot stat", path);
  if (S_ISDIR(facts.st_mode)) throw_system_error(EISDIR, "cannot map", path);
  auto const size = static_cast<std::size_t>(facts.st_size);
  if (size == 0) return;  // nothing can be mapped, and nothing is needed
  void* const start = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (start == MAP_FAILED) throw_system_error(errno, "cannot map", path);
  bytes_ = {static_cast<std::byte const*>(start), size};
}

mapped_file::mapped_file(mapped_file&& other) noexcept
    : bytes_(std::exchange(other.bytes_, std::span<std::byte const>())) {}

mapped_file& mapped_file::operator=(mapped_file&& other) noexcept {
  std::swap(bytes_, other.bytes_);
  return *this;
}

mapped_file::~mapped_file() {
  if (!bytes_.empty()) ::munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());
}

boost::json::object parse_json_object(std::string_view text, std::string_view origin) {
  boost::system::error_code failure;
  boost::json::value document = boost::json::parse({text.data(), text.size()}, failure);
  if (failure)
    throw hocket::error(hocket::errc::corrupt, fmt::format("{}: not JSON ({} in {} bytes)", origin,
                                                           failure.message(), text.size()));
  if (!document.is_object())
    throw hocket::error(hocket::errc::corrupt, fmt::format("{}: not a JSON object", origin));
  return std::move(document.as_object());
}

boost::json::object read_json_object(std::filesystem::path const& path) {
  mapped_file const file(path);
  std::span<std::byte const> const bytes = file.bytes();
  return parse_json_object({reinterpret_cast<char const*>(bytes.data()), bytes.size()},
                           path.string());
}

bool read_count(boost::json::value const& value, std::int64_t& out) noexcept {
  std::int64_t const* const number = value.if_int64();
  if (number == nullptr || *number < 0) return false;
  out = *number;
  return true;
}

}  // namespace embed
