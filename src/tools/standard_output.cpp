// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "standard_output.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

namespace hocket::tools {
namespace {

[[noreturn]] void refuse_output() {
  boost::system::error_code const code(errno, boost::system::system_category());
  throw output_error(code, fmt::format("the output cannot be written: {}", code.message()));
}

// By the first byte of a character; 0 if none begins with it.
std::size_t bytes_of_character(unsigned first) noexcept {
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

// Bytes of the character that the text begins with, 0 if it is ill-formed. The ranges of the second
// byte are those of table 3-7 of the Unicode standard.
std::size_t character_at_front(std::string_view text) noexcept {
  auto const byte = [text](std::size_t i) {
    return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U;
  };
  auto const first = byte(0);
  auto const size = bytes_of_character(first);
  if (size < 2) return size;
  auto const least = first == 0xE0 ? 0xA0U : first == 0xF0 ? 0x90U : 0x80U;
  auto const most = first == 0xED ? 0x9FU : first == 0xF4 ? 0x8FU : 0xBFU;
  if (byte(1) < least || byte(1) > most) return 0;
  for (std::size_t i = 2; i < size; ++i)
    if (byte(i) < 0x80 || byte(i) > 0xBF) return 0;
  return size;
}

}  // namespace

void open_standard_streams() {
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; ++fd)
    if (::fcntl(fd, F_GETFD) < 0 && ::open("/dev/null", O_RDONLY) != fd) {
      boost::system::error_code const code(errno, boost::system::system_category());
      throw error(code, fmt::format("/dev/null: {}", code.message()));
    }
}

void put(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) refuse_output();
}

void flush_output() {
  if (std::fflush(stdout) != 0) refuse_output();
}

void complain(std::string_view text) noexcept { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string as_utf8(std::string_view text) {
  std::string good;
  while (!text.empty()) {
    auto const size = character_at_front(text);
    good += size != 0 ? text.substr(0, size) : "\xEF\xBF\xBD";
    text.remove_prefix(std::max(size, std::size_t{1}));
  }
  return good;
}

}  // namespace hocket::tools
