// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "bert_words.hpp"

#include <doctest/doctest.h>

#include "embed_support.hpp"

using embed::bert_words;
using words = std::vector<std::string>;

TEST_CASE("words are those of the reference tokeniser for 40 texts of many scripts") {
  boost::json::array const records = embed_test::read_reference();
  REQUIRE(records.size() == 40);
  for (boost::json::value const& record : records) {
    boost::json::string const& text = record.at("text").as_string();
    CAPTURE(text.c_str());
    words expected;
    for (boost::json::value const& word : record.at("words").as_array())
      expected.emplace_back(word.as_string());
    CHECK(bert_words(text) == expected);
  }
}

TEST_CASE("text without letters has no words") {
  CHECK(bert_words("").empty());
  CHECK(bert_words(" \t\r\n\u00a0\u3000").empty());
  CHECK(bert_words(std::string_view("\0\x01\x7f", 3)).empty());
}

TEST_CASE("every ASCII mark is a word of its own") {
  CHECK(bert_words("a+b=c$^`|~") == words{"a", "+", "b", "=", "c", "$", "^", "`", "|", "~"});
}

TEST_CASE("accents go in both spellings, also under other marks") {
  CHECK(bert_words("\u00c5ngstr\u00f6m") == words{"angstrom"});
  CHECK(bert_words("A\u030angstro\u0308m") == words{"angstrom"});
  CHECK(bert_words("\u1e69") == words{"s"});  // dot above and dot below
}

TEST_CASE("a sigma at the end of a word becomes the common small sigma") {
  CHECK(bert_words("\u03a3\u03a3") == words{"\u03c3\u03c3"});
  CHECK(bert_words("\u03c2") == words{"\u03c2"});
}

TEST_CASE("ill-formed bytes vanish without joining or splitting their neighbours") {
  CHECK(bert_words("a\xff"
                   "b") == words{"ab"});
  CHECK(bert_words("a\xc3") == words{"a"});
  CHECK(bert_words("a\xed\xa0\x80z") == words{"az"});      // a surrogate
  CHECK(bert_words("a\xf5\x80\x80\x80z") == words{"az"});  // past the last code point
  CHECK(bert_words("a\xc0\x80z") == words{"az"});          // overlong
}

TEST_CASE("the first ill-formed byte is found where it is") {
  CHECK(embed::find_ill_formed_utf8("") == std::string_view::npos);
  CHECK(embed::find_ill_formed_utf8("h\u00e9llo \U0001F680") == std::string_view::npos);
  CHECK(embed::find_ill_formed_utf8("abc\xff") == 3);
  CHECK(embed::find_ill_formed_utf8("\u00e9\xe2\x82") == 2);
}

TEST_CASE("code points are counted, not bytes") {
  CHECK(embed::count_code_points("") == 0);
  CHECK(embed::count_code_points("a\u00e9\u4e00\U0001F680") == 4);
}
