// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <doctest/doctest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <hocket/parallel/model_states.hpp>
#include <hocket/tensor/safetensors.hpp>
#include <ranks.hpp>
#include <run_program.hpp>
#include <string>
#include <vector>

#include "dtensor_support.hpp"
#include "parallel/file_reader.hpp"
#include "programs.hpp"

using namespace hocket;
using namespace std::chrono_literals;
using test::outcome_of;
namespace asio = boost::asio;
namespace fs = std::filesystem;

namespace {

// A folder of this test's own, gone with it.
class folder {
 public:
  folder() : path(fs::temp_directory_path() / ("hocket-files-" + std::to_string(::getpid()))) {
    fs::create_directories(path);
  }
  ~folder() {
    std::error_code ignored;
    fs::remove_all(path, ignored);
  }
  folder(folder const&) = delete;
  folder& operator=(folder const&) = delete;
  fs::path path;
};

constexpr dtype stored_dtypes[] = {dtype::boolean, dtype::u8,  dtype::i8,     dtype::i16,
                                   dtype::u16,     dtype::i32, dtype::u32,    dtype::i64,
                                   dtype::u64,     dtype::f16, dtype::bf16,   dtype::f32,
                                   dtype::f64,     dtype::c64, dtype::f8e4m3, dtype::f8e5m2};

model_states numbered_states(int start) {
  model_states s;
  s.parameter("wide", tensor::arange(dtype::f32, {37, 600}, start));
  s.parameter("narrow", tensor::arange(dtype::bf16, {11, 3, 2}, start));
  s.parameter("transposed", tensor::arange(dtype::i32, {5, 8}, start).transpose(0, 1));
  for (auto const type : stored_dtypes)
    s.buffer("of " + std::string(name_of(type)), tensor::arange(type, {3, 5}, start));
  s.buffer("scalar", tensor::arange(dtype::i64, shape(), start));
  s.buffer("empty", tensor::arange(dtype::f32, {0, 3}, start));
  return s;
}

void check_equal(model_states const& a, model_states const& b) {
  for (auto const table : {&model_states::parameters, &model_states::buffers})
    for (auto const& [name, s] : (a.*table)()) {
      CAPTURE(name);
      CHECK(equal(s.local(), (b.*table)().find(name)->second.local()));
    }
}

fs::path const* where = nullptr;  // of the program that runs

asio::awaitable<void> sharded(world w) {
  auto mesh = co_await init_device_mesh(w, shape(2, 3), mesh_names("replicate", "shard"));
  host_stream reader;
  auto const whole = numbered_states(1);
  for (int dim = 0; dim < 2; ++dim) {
    placements const cut(replicate(), shard(dim));
    model_states mine;
    std::vector<std::pair<dtensor, tensor>> right;
    for (auto const& [name, s] : whole.parameters()) {
      auto const box = local_box(s.shape(), mesh.layout(), cut, mesh.coordinate());
      dtensor const x(tensor::zeros(s.local().dtype(), box.extents()), mesh, cut, s.shape());
      right.emplace_back(x, distribute_tensor(s.local(), mesh, cut).to_local());
      mine.parameter(name, x);
    }
    for (auto const& [name, s] : whole.buffers())
      mine.buffer(name, tensor::zeros(s.local().dtype(), s.shape()));
    co_await load_model_states(mine, *where, mesh, reader);
    for (auto const& [x, shard_of] : right) CHECK(equal(x.to_local(), shard_of));
    for (auto const& [name, s] : mine.buffers())
      CHECK(equal(s.local(), whole.buffers().find(name)->second.local()));
  }
  auto const nowhere = *where / "nowhere";
  auto o = co_await outcome_of(load_model_states(numbered_states(0), nowhere, mesh, reader));
  CHECK(o.code);
  bool const first = mesh.get_local_rank("replicate") == 0;
  CHECK((o.code == errc::peer_failed) == !first);
  if (first) CHECK(o.says("nowhere"));
}

void write(fs::path const& path, std::string const& bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

std::string failure_of(model_states const& states, fs::path const& path, errc code) {
  host_stream reader;
  try {
    load_model_states(states, path, reader).get(10s);
  } catch (error const& e) {
    return e.code() == code ? e.what() : "(another code) " + std::string(e.what());
  }
  return "(read)";
}

}  // namespace

TEST_CASE("states of every dtype are saved and loaded again, with what the program says of them") {
  folder const here;
  host_stream disk;
  auto const path = here.path / "model.safetensors";
  auto const saved = numbered_states(7);
  save_model_states(saved, path, disk, {{"format", "pt"}}).get(10s);
  auto const loaded = numbered_states(0);
  load_model_states(loaded, path, disk).get(10s);
  check_equal(loaded, saved);
  CHECK(std::distance(fs::directory_iterator(here.path), fs::directory_iterator()) == 1);
}

TEST_CASE("each rank reads its shard, the first replica's, and gives it to the others") {
  folder const here;
  auto const path = here.path / "model.safetensors";
  host_stream disk;
  save_model_states(numbered_states(1), path, disk).get(10s);
  where = &path;
  test::run_ranks(6, sharded);
}

TEST_CASE("files that are not right, or not of this model, are refused by name") {
  folder const here;
  auto const path = here.path / "model.safetensors";
  auto const says = [](std::string const& story, char const* text) {
    return story.find(text) != std::string::npos;
  };
  model_states const s = model_states().parameter("a", tensor::zeros(dtype::f32, {2}));
  write(path, "short");
  CHECK(says(failure_of(s, path, errc::corrupt), "5 bytes; the header's length"));
  write(path, std::string("\xff\xff\xff\xff\xff\xff\xff\x7f{}", 10));
  CHECK(says(failure_of(s, path, errc::too_large), "at most 100000000"));
  write(path, std::string("\x09\0\0\0\0\0\0\0{}", 10));
  CHECK(says(failure_of(s, path, errc::corrupt), "a header of 9 bytes in a file of 10"));
  write(path, std::string("\x02\0\0\0\0\0\0\0{}", 10));
  CHECK(says(failure_of(s, path, errc::mismatch), "no tensor \"a\""));
  write(path, std::string("\x02\0\0\0\0\0\0\0{}x", 11));
  CHECK(says(failure_of(s, path, errc::corrupt), "model.safetensors: tensors end at byte 0"));
  host_stream disk;
  model_states more(s);
  more.buffer("b", tensor::zeros(dtype::u8, {2}));
  save_model_states(more, path, disk).get(10s);
  CHECK(says(failure_of(s, path, errc::mismatch), "\"b\" is no state of the model"));
  model_states const other = model_states().parameter("a", tensor::zeros(dtype::f32, {3}));
  save_model_states(s, path, disk).get(10s);
  CHECK(says(failure_of(other, path, errc::mismatch), "\"a\" is f32[3], in the file f32[2]"));
  CHECK(says(failure_of(s, here.path, errc::corrupt), "not a regular file"));
  auto const nowhere = here.path / "no" / "model.safetensors";
  CHECK_THROWS(save_model_states(s, nowhere, disk).get(10s));
}

TEST_CASE("pieces of any length come through io_uring, where it is permitted, as through pread") {
  folder const here;
  auto const path = here.path / "bytes";
  std::string bytes(5'000'001, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 + i / 251);
  write(path, bytes);
  detail::file_reader const file(path);
  CHECK(file.size() == bytes.size());
  for (auto const way : {detail::read_way::best, detail::read_way::pread}) {
    std::string got(bytes.size(), 'x');
    std::vector<detail::file_piece> pieces;
    for (std::size_t at = 0, n = 1; at < bytes.size(); at += n, n = n * 3 + 1)
      pieces.push_back(
          {at, reinterpret_cast<std::byte*>(got.data() + at), std::min(n, bytes.size() - at)});
    auto const said = file.read(pieces, way);
    MESSAGE("read by ", said);
    CHECK(got == bytes);
  }
  std::byte one{};
  std::vector<detail::file_piece> const outside{{bytes.size(), &one, 1}};
  CHECK_THROWS_AS(file.read(outside), error);
  fs::resize_file(path, 1000);
  std::string got(bytes.size(), 'x');
  std::vector<detail::file_piece> const all{
      {0, reinterpret_cast<std::byte*>(got.data()), got.size()}};
  CHECK_THROWS_AS(file.read(all), error);
  CHECK_THROWS_AS(file.read(all, detail::read_way::pread), error);
}
