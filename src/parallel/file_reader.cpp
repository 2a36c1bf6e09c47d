// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "file_reader.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <liburing.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <hocket/error.hpp>
#include <utility>

namespace hocket::detail {
namespace {

// Large enough for the device, small enough that several are under way for one tensor.
constexpr std::size_t chunk_max = std::size_t{1} << 20;
constexpr unsigned depth = 16;

[[noreturn]] void fail_with(int code, std::string const& what) {
  boost::system::error_code const e(code, boost::system::system_category());
  throw error(e, fmt::format("{}: {}", what, e.message()));
}

// Pieces as chunks that fit a request.
std::deque<file_piece> chunks_of(std::span<file_piece const> pieces) {
  std::deque<file_piece> chunks;
  for (auto p : pieces)
    while (p.bytes > 0) {
      auto const n = std::min(p.bytes, chunk_max);
      chunks.push_back({p.offset, p.to, n});
      p.offset += n;
      p.to += n;
      p.bytes -= n;
    }
  return chunks;
}

// One ring and the chunks that are under way in it.
class ring {
 public:
  ring() : opened_(io_uring_queue_init(depth, &ring_, 0) == 0) {
    for (unsigned i = 0; i < depth; ++i) free_.push_back(i);
  }
  ~ring() {
    if (opened_) io_uring_queue_exit(&ring_);
  }
  ring(ring const&) = delete;
  ring& operator=(ring const&) = delete;

  [[nodiscard]] bool opened() const noexcept { return opened_; }
  [[nodiscard]] bool busy() const noexcept { return free_.size() < depth; }
  [[nodiscard]] bool has_room() const noexcept { return !free_.empty(); }

  void add(int fd, file_piece const& chunk) {
    auto const slot = free_.back();
    free_.pop_back();
    slots_[slot] = chunk;
    io_uring_sqe* const sqe = io_uring_get_sqe(&ring_);  // there are as many as slots
    io_uring_prep_read(sqe, fd, chunk.to, static_cast<unsigned>(chunk.bytes), chunk.offset);
    io_uring_sqe_set_data64(sqe, slot);
  }
  /// False if the kernel refuses.
  bool submit_and_wait() {
    int const rc = io_uring_submit_and_wait(&ring_, 1);
    under_way_ += std::max(rc, 0);
    return rc >= 0 || rc == -EINTR;
  }
  /// Waits for those that the kernel has. Those it has not taken touch no buffer.
  void drain() {
    file_piece chunk;
    for (int result = 0; under_way_ > 0;)
      if (!next(chunk, result)) ::usleep(100);
  }
  /// The next chunk that has ended: its number of bytes, or an error below 0.
  bool next(file_piece& chunk, int& result) {
    io_uring_cqe* cqe = nullptr;
    if (io_uring_peek_cqe(&ring_, &cqe) != 0) return false;
    auto const slot = static_cast<unsigned>(io_uring_cqe_get_data64(cqe));
    result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    chunk = slots_[slot];
    free_.push_back(slot);
    --under_way_;
    return true;
  }

 private:
  io_uring ring_{};
  bool opened_;
  int under_way_ = 0;
  std::array<file_piece, depth> slots_;
  std::deque<unsigned> free_;
};

}  // namespace

file_reader::file_reader(std::filesystem::path path) : path_(std::move(path)) {
  fd_ = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd_ < 0) fail(errno, "open");
  struct stat status {};
  bool const known = ::fstat(fd_, &status) == 0;
  int const code = known ? EINVAL : errno;
  if (known && S_ISREG(status.st_mode)) {
    size_ = static_cast<std::uint64_t>(status.st_size);
    return;
  }
  ::close(std::exchange(fd_, -1));
  fail(code, known ? "not a regular file" : "fstat");
}

file_reader::~file_reader() {
  if (fd_ >= 0) ::close(fd_);
}

void file_reader::fail(int code, char const* what) const {
  fail_with(code, fmt::format("{}: {}", path_.string(), what));
}

std::string_view file_reader::read(std::span<file_piece const> pieces, read_way way) const {
  for (auto const& p : pieces)
    if (p.offset > size_ || p.bytes > size_ - p.offset)
      throw error(errc::corrupt, fmt::format("{}: {} bytes at {} of {}", path_.string(), p.bytes,
                                             p.offset, size_));
  if (way == read_way::best && read_by_uring(pieces)) return "io_uring";
  for (auto const& p : pieces) read_one(p);
  return "pread";
}

void file_reader::read_one(file_piece p) const {
  while (p.bytes > 0) {
    auto const got = ::pread(fd_, p.to, p.bytes, static_cast<off_t>(p.offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail(errno, "read");
    if (got == 0)
      throw error(errc::corrupt,
                  fmt::format("{}: ends at byte {}, it had {}", path_.string(), p.offset, size_));
    p.to += got;
    p.offset += static_cast<std::uint64_t>(got);
    p.bytes -= static_cast<std::size_t>(got);
  }
}

// False where the kernel does not permit it, or has no such read: nothing is lost, all can be read
// by pread. Nothing is thrown or returned while a read is under way.
bool file_reader::read_by_uring(std::span<file_piece const> pieces) const {
  ring r;
  if (!r.opened()) return false;
  auto chunks = chunks_of(pieces);
  int failed = 0;
  bool truncated = false;
  while (r.busy() || (!chunks.empty() && failed == 0 && !truncated)) {
    for (; failed == 0 && !truncated && !chunks.empty() && r.has_room(); chunks.pop_front())
      r.add(fd_, chunks.front());
    if (!r.submit_and_wait()) {
      r.drain();
      return false;
    }
    file_piece chunk;
    int result = 0;
    while (r.next(chunk, result)) {
      if (result == 0) truncated = true;
      if (result < 0 && result != -EINTR && result != -EAGAIN) failed = -result;
      auto const got = static_cast<std::size_t>(std::max(result, 0));
      if (got < chunk.bytes && failed == 0 && !truncated)
        chunks.push_back({chunk.offset + got, chunk.to + got, chunk.bytes - got});
    }
  }
  if (failed == EINVAL || failed == EOPNOTSUPP || failed == ENOSYS) return false;
  if (failed != 0) fail(failed, "read");
  if (truncated)
    throw error(errc::corrupt,
                fmt::format("{}: has become shorter than {} bytes", path_.string(), size_));
  return true;
}

namespace {

void write_all(int fd, std::span<std::byte const> bytes, std::string const& name) {
  while (!bytes.empty()) {
    auto const n = ::write(fd, bytes.data(), std::min(bytes.size(), std::size_t{1} << 30));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) fail_with(errno, name + ": write");
    bytes = bytes.subspan(static_cast<std::size_t>(n));
  }
}

}  // namespace

void write_file(std::filesystem::path const& path,
                std::span<std::span<std::byte const> const> parts) {
  auto const name = fmt::format("{}.{}.part", path.string(), ::getpid());
  int const fd = ::open(name.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) fail_with(errno, name + ": open");
  try {
    for (auto const part : parts) write_all(fd, part, name);
    if (::fsync(fd) != 0) fail_with(errno, name + ": fsync");
    if (::rename(name.c_str(), path.c_str()) != 0) fail_with(errno, path.string() + ": rename");
  } catch (...) {
    ::close(fd);
    ::unlink(name.c_str());
    throw;
  }
  ::close(fd);
}

}  // namespace hocket::detail
