// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "sentences.hpp"

#include <doctest/doctest.h>

#include "embed_support.hpp"

namespace {

using lines = std::vector<std::string>;

std::string refused(std::string_view text) {
  auto const e = embed_test::error_of([text] { (void)embed::split_sentences(text, "notes.txt"); });
  CHECK(e.code() == hocket::errc::corrupt);
  return e.what();
}

}  // namespace

TEST_CASE("a line is a sentence, an empty one too, whether or not the last line is ended") {
  CHECK(embed::split_sentences("", "t").empty());
  CHECK(embed::split_sentences("one", "t") == lines{"one"});
  CHECK(embed::split_sentences("one\n", "t") == lines{"one"});
  CHECK(embed::split_sentences("one\n\n two \n", "t") == lines{"one", "", " two "});
  CHECK(embed::split_sentences("\n", "t") == lines{""});
  CHECK(embed::split_sentences("\n\nx", "t") == lines{"", "", "x"});
}

TEST_CASE("lines that end in CR LF lose both, a CR elsewhere stays") {
  CHECK(embed::split_sentences("one\r\ntwo\r\n", "t") == lines{"one", "two"});
  CHECK(embed::split_sentences("a\rb\n\r\nc\r", "t") == lines{"a\rb", "", "c"});
}

TEST_CASE("a byte order mark at the start is no part of the first sentence") {
  CHECK(embed::split_sentences("\xEF\xBB\xBFone\n\xEF\xBB\xBFtwo", "t") ==
        lines{"one", "\xEF\xBB\xBFtwo"});
  CHECK(embed::split_sentences("\xEF\xBB\xBF", "t").empty());
}

TEST_CASE("ill-formed UTF-8 is refused with line, byte and value") {
  CHECK(refused("\xff") == "notes.txt, line 1: byte 1 (0xff) is not well-formed UTF-8");
  CHECK(refused("good\n\nK\xC3\xBCste \xC3\n") ==
        "notes.txt, line 3: byte 8 (0xc3) is not well-formed UTF-8");
  CHECK(refused("\xED\xA0\x80").find("line 1: byte 1 ") != std::string::npos);  // a surrogate
}

TEST_CASE("files that cannot be read give the system's code and their name") {
  embed_test::scratch_directory const directory;
  std::string const none = (directory.path() / "none.txt").string();
  auto const missing = embed_test::error_of([&] { (void)embed::read_sentences(none); });
  CHECK(missing.code() == boost::system::errc::no_such_file_or_directory);
  CHECK(std::string(missing.what()).find(none) != std::string::npos);
  auto const folder =
      embed_test::error_of([&] { (void)embed::read_sentences(directory.path().string()); });
  CHECK(folder.code() == boost::system::errc::is_a_directory);
  auto const file = directory.write("text", "a\nb");
  CHECK(embed::read_sentences(file.string()) == lines{"a", "b"});
}
