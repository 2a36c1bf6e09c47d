// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "sentences.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <hocket/error.hpp>
#include <memory>

#include "bert_words.hpp"

namespace embed {
namespace {

[[noreturn]] void refuse_file(std::string const& file, int number) {
  boost::system::error_code const code(number, boost::system::system_category());
  throw hocket::error(code, fmt::format("cannot read {}: {}", file, code.message()));
}

struct close_file {
  void operator()(std::FILE* f) const noexcept { std::fclose(f); }
};

std::string read_all(std::FILE* in, std::string const& name) {
  std::string text;
  std::array<char, 1 << 16> block;
  while (std::size_t const got = std::fread(block.data(), 1, block.size(), in))
    text.append(block.data(), got);
  if (std::ferror(in) != 0) refuse_file(name, errno);
  return text;
}

[[noreturn]] void refuse_byte(std::string_view text, std::size_t at, std::string_view origin) {
  std::string_view const before = text.substr(0, at);
  auto const line = std::count(before.begin(), before.end(), '\n') + 1;
  std::size_t const column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  throw hocket::error(hocket::errc::corrupt,
                      fmt::format("{}, line {}: byte {} (0x{:02x}) is not well-formed UTF-8",
                                  origin, line, column, static_cast<unsigned char>(text[at])));
}

}  // namespace

std::vector<std::string> split_sentences(std::string_view text, std::string_view origin) {
  if (auto const at = find_ill_formed_utf8(text); at != std::string_view::npos)
    refuse_byte(text, at, origin);
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::vector<std::string> sentences;
  while (!text.empty()) {
    std::size_t const end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.remove_suffix(1);
    sentences.emplace_back(line);
  }
  return sentences;
}

std::vector<std::string> read_sentences(std::string const& file) {
  if (file == "-") return split_sentences(read_all(stdin, "standard input"), "standard input");
  std::unique_ptr<std::FILE, close_file> const in(std::fopen(file.c_str(), "rbe"));
  if (!in) refuse_file(file, errno);
  return split_sentences(read_all(in.get(), file), file);
}

}  // namespace embed
