// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <hocket/error.hpp>
#include <hocket/group/fingerprint.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/host/announcement.hpp"
#include "engine/host/in_link.hpp"

namespace {

using namespace hocket;
using namespace hocket::host;

constexpr int members = 4;

identity identity_of(int rank) {
  identity me;
  me.job = "fuzz";
  me.rank = rank;
  me.size = members;
  return me;
}

void check(bool holds) {
  if (!holds) std::abort();
}

/// Reads what arrives as a group does, and has asked for the data of transfers 1 to 3.
class reader final : public frame_sink {
 public:
  void speaks(in_link&) override {}
  void greeted(in_link&) override {}
  void arrived(in_link&, frame_head const& head, std::span<std::byte const> extra,
               std::span<std::byte const> payload) override {
    check(!is_over);
    check(extra.size() == head.extra_bytes && payload.size() == head.payload_bytes);
    if (head.kind == frame_kind::mark) {
      auto const told = read_mark(head, extra, payload);
      check(bytes_of(told.items) == payload.size());
    } else if (head.kind == frame_kind::call || head.kind == frame_kind::failed) {
      auto const c = read_announcement(head, extra, payload, "g[0,1,2,3]", members);
      request const& r = c->asked;
      auto const here = r.in.defined() ? r.in.nbytes() : 0;
      check(here + bytes_of(r.attachments) == payload.size());
      check(c->gives.size() <= extra.size() && c->sends.size() <= members);
    }
  }
  std::byte* landing(in_link&, frame_head const& head) override {
    check(!is_over);
    if (head.tag == 0 || head.tag > 3) throw error(errc::corrupt, "nobody has asked for this");
    if (head.tag == 3) return nullptr;
    auto& place = places[head.tag];
    place.assign(head.payload_bytes, std::byte{0});
    return place.data();
  }
  void landed(in_link&, frame_head const&) override { check(!is_over); }
  void ended(in_link&, std::string const& why) override {
    check(!is_over && !why.empty());
    is_over = true;
  }
  bool is_over = false;
  std::vector<std::byte> places[3];
};

/// At most `piece` bytes at a time; false: it reads no more.
bool feed(in_link& to, std::string_view bytes, std::size_t piece) {
  while (!bytes.empty()) {
    auto left = bytes.substr(0, piece);
    std::size_t taken = 0;
    for (iovec const& p : to.to_read()) {
      auto const n = std::min(left.size(), p.iov_len);
      if (n > 0) std::memcpy(p.iov_base, left.data(), n);
      left.remove_prefix(n);
      taken += n;
    }
    if (taken == 0) return false;
    to.read(taken);
    bytes.remove_prefix(taken);
  }
  return true;
}

std::string said_by(in_link& from) {
  std::string all;
  for (iovec const& p : from.to_write())
    all.append(static_cast<char const*>(p.iov_base), p.iov_len);
  if (!all.empty()) from.written(all.size());
  return all;
}

void greet(in_link& to) {
  auto const me = identity_of(1);
  caller_greeting caller(me, 0);
  std::string out;
  feed(to, caller.hello(), SIZE_MAX);
  caller.receive(said_by(to), out);
  feed(to, out, SIZE_MAX);
  check(to.peer() == 1);
}

/// A right frame to begin with.
std::string sample(unsigned seed) {
  boost::intrusive_ptr<remote_call> const c(new remote_call("g[0,1,2,3]"), false);
  request& r = c->asked;
  r.op = c.get();
  r.rank = 1;
  r.print.kind = seed % 2 == 0 ? op_kind::all_gather : op_kind::send_object;
  r.in = tensor::empty(dtype::u8, shape(seed % 90));
  std::memset(r.in.bytes(), 7, r.in.nbytes());
  if (seed % 2 == 1) r.attachments.push_back(tensor::empty(dtype::f32, shape(0, 3)));
  announcement const a(r);
  auto const gifts = a.gifts(2);
  bool const is_inline = seed % 3 != 0;
  auto const l = seed % 5 == 0 ? a.mark_for(1, gifts, is_inline, 4, 5)
                               : a.letter_for(1, gifts, is_inline, 4, 5);
  std::string all(reinterpret_cast<char const*>(&l.head), sizeof l.head);
  all.append(reinterpret_cast<char const*>(l.body.data()), l.body.size());
  frame_head data;
  data.kind = frame_kind::data;
  data.tag = 1 + seed % 3;
  data.payload_bytes = seed % 50;
  all.append(reinterpret_cast<char const*>(&data), sizeof data);
  return all.append(data.payload_bytes, 'd');
}

}  // namespace

/// The first byte: how many bytes come at once, and whether the peer has been greeted.
extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  if (size == 0) return 0;
  auto const me = identity_of(0);
  reader sink;
  in_link link(sink, me);
  if (data[0] % 8 != 7) greet(link);
  std::size_t const piece = data[0] < 8 ? SIZE_MAX : data[0];
  bool const reads = feed(link, {reinterpret_cast<char const*>(data) + 1, size - 1}, piece);
  said_by(link);
  check(reads || sink.is_over);
  link.ended(make_error_code(errc::peer_lost));
  check(sink.is_over);
  return 0;
}

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t size_max);
/// Blind mutations seldom find a whole frame: now and then one starts from a right one.
extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size,
                                               std::size_t size_max, unsigned seed) {
  if (seed % 16 == 0) {
    auto const right = sample(seed / 16);
    if (right.size() < size_max) {
      data[0] = static_cast<std::uint8_t>(seed >> 20);
      std::memcpy(data + 1, right.data(), right.size());
      size = right.size() + 1;
    }
  }
  return LLVMFuzzerMutate(data, size, size_max);
}
