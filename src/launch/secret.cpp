// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/crypto.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <hocket/error.hpp>
#include <hocket/launch/secret.hpp>
#include <optional>
#include <string_view>

namespace hocket {
namespace {

constexpr std::size_t digits = 2 * launch_secret::size;

[[noreturn]] void refuse(std::string const& story) { throw error(errc::invalid_argument, story); }

[[noreturn]] void fail_with_errno(std::string const& story) {
  boost::system::error_code const code(errno, boost::system::system_category());
  throw error(code, fmt::format("{}: {}", story, code.message()));
}

struct open_file {
  explicit open_file(int descriptor) noexcept : fd(descriptor) {}
  open_file(open_file const&) = delete;
  open_file& operator=(open_file const&) = delete;
  ~open_file() { ::close(fd); }
  int fd;
};

std::optional<unsigned> digit(char c) {
  if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
  if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a' + 10);
  if (c >= 'A' && c <= 'F') return static_cast<unsigned>(c - 'A' + 10);
  return std::nullopt;
}

// Wiped buffer for one byte more than the longest form, so that a longer file is noticed.
struct content {
  content() noexcept = default;
  content(content const&) = delete;
  content& operator=(content const&) = delete;
  ~content() { ::OPENSSL_cleanse(bytes.data(), bytes.size()); }
  std::array<char, digits + 2> bytes{};
  std::size_t size = 0;
};

void read_start(int fd, content& to) {
  for (;;) {
    auto const got = ::pread(fd, to.bytes.data() + to.size, to.bytes.size() - to.size,
                             static_cast<off_t>(to.size));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return;
    to.size += static_cast<std::size_t>(got);
  }
}

launch_secret parsed(content const& from, std::string const& what) {
  std::array<std::byte, launch_secret::size> bytes{};
  std::string_view const text(from.bytes.data(), from.size);
  if (text.size() == launch_secret::size) {
    std::ranges::transform(text, bytes.begin(), [](char c) { return static_cast<std::byte>(c); });
  } else {
    bool const is_hex = text.size() == digits || (text.size() == digits + 1 && text.back() == '\n');
    for (std::size_t i = 0; is_hex && i < launch_secret::size; ++i) {
      auto const high = digit(text[2 * i]);
      auto const low = digit(text[2 * i + 1]);
      if (!high || !low) refuse(what + ": a character is no hexadecimal digit");
      bytes[i] = static_cast<std::byte>(*high << 4 | *low);
    }
    if (!is_hex)
      refuse(fmt::format("{}: {} bytes{}, a secret has {} or {} hexadecimal digits", what,
                         text.size(), text.size() > digits ? " or more" : "", launch_secret::size,
                         digits));
  }
  launch_secret const secret{std::span<std::byte const, launch_secret::size>(bytes)};
  ::OPENSSL_cleanse(bytes.data(), bytes.size());
  if (secret.empty()) refuse(what + ": a secret of zeros is none");
  return secret;
}

}  // namespace

launch_secret::launch_secret(std::span<std::byte const, size> bytes) noexcept {
  std::ranges::copy(bytes, bytes_.begin());
}

launch_secret::~launch_secret() { ::OPENSSL_cleanse(bytes_.data(), bytes_.size()); }

launch_secret launch_secret::random() {
  launch_secret secret;
  if (::getrandom(secret.bytes_.data(), size, 0) != static_cast<ssize_t>(size))
    fail_with_errno("getrandom");
  return secret;
}

launch_secret launch_secret::from_file(std::string const& path) {
  auto const what = fmt::format("secret file {}", path);
  int const fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail_with_errno(what);
  open_file const file(fd);
  struct stat about {};
  if (::fstat(fd, &about) != 0) fail_with_errno(what);
  if (!S_ISREG(about.st_mode)) refuse(what + " is not a regular file");
  if ((about.st_mode & 077) != 0)
    refuse(fmt::format("{} has mode {:04o}: only its owner may have access (chmod 600)", what,
                       about.st_mode & 07777u));
  if (about.st_uid != ::geteuid() && about.st_uid != 0)
    refuse(
        fmt::format("{} belongs to user {}, not to {} or root", what, about.st_uid, ::geteuid()));
  content text;
  read_start(fd, text);
  return parsed(text, what);
}

launch_secret launch_secret::from_descriptor(int fd) {
  auto const what = fmt::format("secret in descriptor {}", fd);
  int const seals = ::fcntl(fd, F_GET_SEALS);
  if (seals < 0)
    refuse(what + (errno == EBADF ? ": it is not open here" : ": it is not a memory file"));
  if ((seals & F_SEAL_WRITE) == 0) refuse(what + ": the memory file is not sealed");
  content text;
  read_start(fd, text);
  return parsed(text, what);
}

int launch_secret::to_descriptor() const {
  int const fd = ::memfd_create("hocket secret", MFD_ALLOW_SEALING);
  if (fd < 0) fail_with_errno("memfd_create");
  bool const whole = ::write(fd, bytes_.data(), size) == static_cast<ssize_t>(size);
  int const seals = F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE;
  if (!whole || ::fcntl(fd, F_ADD_SEALS, seals) != 0) {
    int const why = errno;
    ::close(fd);
    errno = why;
    fail_with_errno("a memory file for the secret");
  }
  return fd;
}

bool launch_secret::empty() const noexcept {
  return std::ranges::all_of(bytes_, [](std::byte b) { return b == std::byte{0}; });
}

}  // namespace hocket
