// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A header is what strangers wrote: it is right, or an error with a reason.
#include <doctest/doctest.h>

#include <hocket/error.hpp>
#include <hocket/tensor/safetensors.hpp>
#include <random>
#include <refusal.hpp>
#include <string>

using namespace hocket;
using test::refusal;

namespace {

safetensors_header sample() {
  safetensors_header h;
  h.metadata = {{"format", "pt"}, {"quote \" and \\", "line\nend \x01"}};
  h.tensors.emplace("a.weight", stored_tensor{dtype::f32, {3, 5}, 0, 60});
  h.tensors.emplace("empty", stored_tensor{dtype::i64, {0, 7}, 60, 60});
  h.tensors.emplace("größe \U0001F600", stored_tensor{dtype::boolean, shape(), 60, 61});
  h.tensors.emplace("half", stored_tensor{dtype::bf16, {2}, 61, 65});
  return h;
}

std::string text_of(safetensors_header const& h) { return write_safetensors_header(h).substr(8); }

std::string refused(std::string const& text, std::uint64_t bytes, errc code = errc::corrupt) {
  return refusal([&] { return parse_safetensors_header(text, bytes); }, code);
}

bool says(std::string const& story, char const* text) {
  return test::is_refused(story) && story.find(text) != std::string::npos;
}

}  // namespace

TEST_CASE("what is written is read again, aligned to 8 bytes behind its length") {
  auto const whole = write_safetensors_header(sample());
  CHECK(whole.size() % 8 == 0);
  CHECK(static_cast<unsigned char>(whole[0]) + 256u * static_cast<unsigned char>(whole[1]) ==
        whole.size() - 8);
  auto const h = parse_safetensors_header(whole.substr(8), 65);
  CHECK(h.metadata == sample().metadata);
  CHECK(h.tensors.size() == 4);
  auto const& t = h.tensors.at("a.weight");
  CHECK(t.dtype == dtype::f32);
  CHECK(t.shape == shape(3, 5));
  CHECK(t.end == 60);
  CHECK(h.tensors.at("größe \U0001F600").shape == shape());
  CHECK(parse_safetensors_header("{}   ", 0).tensors.empty());
  CHECK(parse_safetensors_header(R"({"\u0041\ud83d\ude00":{"shape":[ ],"dtype":"U8",)"
                                 R"("data_offsets" : [0,1]}})",
                                 1)
            .tensors.contains("A\U0001F600"));
}

TEST_CASE("text that is no such header is refused with the place") {
  for (auto const* const text :
       {"",
        " ",
        "[]",
        "{",
        "{}x",
        "{\"a\"",
        "{\"a\":}",
        "{\"a\":{}}",
        "{\"a\":1}",
        "{,}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]},}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[01],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[-1],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1.0],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1e0],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[99999999999999999999],\"data_offsets\":[0,1]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1,2]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0]}}",
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1],\"x\":1}}",
        "{\"a\":{\"dtype\":\"U8\",\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[0,1]}}",
        "{\"\\ud800\":{}}",
        "{\"\\x\":{}}",
        "{\"\\u00g0\":{}}",
        "{\"\xff\":{}}",
        "{\"\xc0\xaf\":{}}",
        "{\"\xed\xa0\x80\":{}}",
        "{\"a\nb\":{}}",
        "{\"__metadata__\":{\"a\":1}}",
        "{\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}",
        "{\"__metadata__\":{},\"__metadata__\":{}}"}) {
    CAPTURE(text);
    auto const story = refused(text, 1);
    CHECK(test::is_refused(story));
    CHECK(story.find("byte ") != std::string::npos);
  }
  std::string nested(100'000, '[');
  CHECK(test::is_refused(refused("{\"a\":" + nested, 1)));
}

TEST_CASE("offsets that leave the file, overlap, leave holes or do not fit are refused by name") {
  auto const tensor = [](char const* name, char const* shape, int begin, int end) {
    return "\"" + std::string(name) + R"(":{"dtype":"F32","shape":)" + shape +
           ",\"data_offsets\":[" + std::to_string(begin) + "," + std::to_string(end) + "]}";
  };
  auto const a = tensor("a", "[2]", 0, 8);
  CHECK(says(refused("{" + a + "}", 7), "tensor \"a\": f32[2] in bytes [0, 8) of 7"));
  CHECK(says(refused("{" + a + "}", 9), "tensors end at byte 8, the file at 9"));
  CHECK(says(refused("{" + tensor("b", "[2]", 0, 4) + "}", 8), "\"b\""));
  CHECK(says(refused("{" + tensor("b", "[2]", 8, 0) + "}", 8), "\"b\""));
  CHECK(says(refused("{" + a + "," + tensor("b", "[1]", 4, 8) + "}", 8), "\"b\" begins at byte 4"));
  CHECK(says(refused("{" + a + "," + tensor("b", "[1]", 12, 16) + "}", 16), "but 8 comes next"));
  CHECK(says(refused("{" + a + "," + a + "}", 8), "comes twice"));
  auto const huge = tensor("h", "[4294967296,4294967296,4294967296]", 0, 0);
  CHECK(says(refused("{" + huge + "}", 0), "\"h\""));
  CHECK(parse_safetensors_header("{" + tensor("z", "[0,9223372036854775807,8]", 0, 0) + "}", 0)
            .tensors.at("z")
            .shape.size() == 3);
  CHECK(says(refused("{" + tensor("n", "[1,1,1,1,1,1,1,1,1]", 0, 4) + "}", 4, errc::unsupported),
             "8 dimensions"));
  CHECK(
      says(refused(R"({"q":{"dtype":"F4","shape":[],"data_offsets":[0,1]}})", 1, errc::unsupported),
           "\"q\" has the dtype \"F4\""));
}

TEST_CASE("what the format cannot hold is not written") {
  safetensors_header h;
  h.tensors.emplace("c", stored_tensor{dtype::c128, {1}, 0, 16});
  CHECK(test::is_refused(refusal([&] { return text_of(h); }, errc::unsupported)));
  safetensors_header m;
  m.tensors.emplace("__metadata__", stored_tensor{dtype::u8, {1}, 0, 1});
  CHECK(test::is_refused(refusal([&] { return text_of(m); })));
  safetensors_header n;
  n.tensors.emplace("\xff", stored_tensor{dtype::u8, {1}, 0, 1});
  CHECK(test::is_refused(refusal([&] { return text_of(n); })));
}

TEST_CASE("twenty thousand headers with wrong bytes: each is an error, or reads back the same") {
  auto const right = text_of(sample());
  std::mt19937 random(8);
  auto const below = [&](std::size_t n) { return random() % n; };
  int taken = 0;
  for (int i = 0; i < 20'000; ++i) {
    auto text = right;
    for (std::size_t k = 0, n = 1 + below(4); k < n && !text.empty(); ++k) {
      auto const at = below(text.size());
      switch (below(4)) {
        case 0:
          text[at] = static_cast<char>(random());
          break;
        case 1:
          text.erase(at, 1 + below(9));
          break;
        case 2:
          text.insert(at, right, below(right.size()), 1 + below(30));
          break;
        default:
          text[at] = "0123456789[]{}\",:\\"[below(18)];
      }
    }
    try {
      auto const h = parse_safetensors_header(text, 65);
      ++taken;
      auto const again = parse_safetensors_header(text_of(h), 65);
      CHECK(again.tensors.size() == h.tensors.size());
      CHECK(again.metadata == h.metadata);
    } catch (error const& e) {
      CHECK(e.code().category() == hocket_category());
    }
  }
  CHECK(taken > 100);
}
