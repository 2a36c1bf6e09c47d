// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "wordpiece.hpp"

#include <doctest/doctest.h>

#include "embed_support.hpp"

using embed::wordpiece;
using pieces = std::vector<std::string>;

namespace {

pieces pieces_of(wordpiece const& tokeniser, std::string_view text, std::size_t tokens_max = 256) {
  pieces out;
  for (embed::token_id const id : tokeniser.encode(text, tokens_max))
    out.emplace_back(tokeniser.piece(id));
  return out;
}

struct tiny_tokeniser {
  embed_test::tiny_directory directory;
  wordpiece tokeniser{directory.path() / "vocab.txt"};
};

}  // namespace

TEST_CASE_FIXTURE(tiny_tokeniser, "a word is cut into the longest pieces from the left") {
  CHECK(pieces_of(tokeniser, "Thesis") == pieces{"[CLS]", "the", "##s", "##i", "##s", "[SEP]"});
  CHECK(pieces_of(tokeniser, "nation") == pieces{"[CLS]", "n", "##a", "##tion", "[SEP]"});
  CHECK(pieces_of(tokeniser, "in it") == pieces{"[CLS]", "in", "it", "[SEP]"});
}

TEST_CASE_FIXTURE(tiny_tokeniser, "every printable ASCII character has a token") {
  for (char c = ' '; c <= '~'; ++c) {
    std::string const text = {'x', c, 'y'};
    CAPTURE(text);
    for (embed::token_id const id : tokeniser.encode(text, 256))
      CHECK(id != tokeniser.unknown_id());
  }
}

TEST_CASE_FIXTURE(tiny_tokeniser, "a word with one place without a piece is unknown as a whole") {
  CHECK(pieces_of(tokeniser, "ab\u4e00cd") ==
        pieces{"[CLS]", "a", "##b", "[UNK]", "c", "##d", "[SEP]"});
  CHECK(pieces_of(tokeniser, "abc\u03b1 x") == pieces{"[CLS]", "[UNK]", "x", "[SEP]"});
}

TEST_CASE_FIXTURE(tiny_tokeniser, "a word of 100 code points is cut, of 101 unknown") {
  CHECK(tokeniser.encode(std::string(100, 'q'), 256).size() == 102);
  CHECK(pieces_of(tokeniser, std::string(101, 'q')) == pieces{"[CLS]", "[UNK]", "[SEP]"});
}

TEST_CASE_FIXTURE(tiny_tokeniser, "text without words is the two marks alone") {
  CHECK(pieces_of(tokeniser, "") == pieces{"[CLS]", "[SEP]"});
  CHECK(pieces_of(tokeniser, " \t\n") == pieces{"[CLS]", "[SEP]"});
}

TEST_CASE_FIXTURE(tiny_tokeniser, "the tail is cut and the last mark stays") {
  CHECK(pieces_of(tokeniser, "a b c d", 5) == pieces{"[CLS]", "a", "b", "c", "[SEP]"});
  CHECK(pieces_of(tokeniser, "a b c d", 6) == pieces{"[CLS]", "a", "b", "c", "d", "[SEP]"});
  CHECK(pieces_of(tokeniser, "qqqqqqqq", 4) == pieces{"[CLS]", "q", "##q", "[SEP]"});
  CHECK(pieces_of(tokeniser, "a [MASK] b", 3) == pieces{"[CLS]", "a", "[SEP]"});
  CHECK(pieces_of(tokeniser, "anything", 2) == pieces{"[CLS]", "[SEP]"});
  auto const e = embed_test::error_of([this] { (void)tokeniser.encode("a", 1); });
  CHECK(e.code() == hocket::errc::invalid_argument);
}

TEST_CASE_FIXTURE(tiny_tokeniser, "the names of the special tokens stand for them") {
  CHECK(pieces_of(tokeniser, "a[MASK]b[SEP]") ==
        pieces{"[CLS]", "a", "[MASK]", "b", "[SEP]", "[SEP]"});
  CHECK(pieces_of(tokeniser, "[[MASK]") == pieces{"[CLS]", "[", "[MASK]", "[SEP]"});
  CHECK(pieces_of(tokeniser, "[x]") == pieces{"[CLS]", "[", "x", "]", "[SEP]"});
}

TEST_CASE_FIXTURE(tiny_tokeniser, "an id outside the vocabulary has no piece") {
  auto const size = static_cast<embed::token_id>(tokeniser.size());
  for (embed::token_id const id : {embed::token_id{-1}, size}) {
    auto const e = embed_test::error_of([this, id] { (void)tokeniser.piece(id); });
    CHECK(e.code() == hocket::errc::invalid_argument);
    CHECK(std::string(e.what()).find(std::to_string(id)) != std::string::npos);
  }
}

TEST_CASE("a vocabulary that cannot serve is refused with its line") {
  embed_test::scratch_directory const directory;
  auto const refused = [&directory](std::string_view content) {
    auto const file = directory.write("vocab.txt", content);
    return embed_test::error_of([&file] { wordpiece const tokeniser(file); });
  };
  auto const twice = refused("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\na\n");
  CHECK(twice.code() == hocket::errc::corrupt);
  CHECK(std::string(twice.what()).find(":8: piece \"a\" is already on line 6") !=
        std::string::npos);
  auto const missing = refused("[PAD]\n[UNK]\n[CLS]\n[MASK]\na\n");
  CHECK(missing.code() == hocket::errc::corrupt);
  CHECK(std::string(missing.what()).find("[SEP]") != std::string::npos);
  CHECK(refused("").code() == hocket::errc::corrupt);
  auto const absent = embed_test::error_of(
      [&directory] { wordpiece const tokeniser(directory.path() / "none.txt"); });
  CHECK(absent.code() == boost::system::errc::no_such_file_or_directory);
}
