// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <random>

#include "async_support.hpp"
#include "io_support.hpp"

using namespace hocket_test;

namespace {

// Two streams that talk to each other through one poller, and what each of them has said.
struct conversation {
  test_stream ends[2];
  std::string said[2];
  int gone = 0;
  bool is_cut = false;  // by a removal

  bool is_heard() const {
    return ends[0].in.size() == said[1].size() && ends[1].in.size() == said[0].size();
  }
  bool is_closed() const { return gone + ends[0].is_over() + ends[1].is_over() >= 2; }
};

class random_talk {
 public:
  random_talk(io::poller& p, socket_pair (*pair)(), unsigned seed)
      : poller_(p), pair_(pair), random_(seed) {}

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      if (pick(3) == 0) poller_.poll();
    }
    for (auto& c : open_)
      for (auto& end : c->ends) resume(end);
    CHECK(drive(poller_, [&] {
      return std::ranges::all_of(
          open_, [](auto const& c) { return c->is_cut ? c->is_closed() : c->is_heard(); });
    }));
    for (auto const& c : open_) {
      for (int side : {0, 1}) {
        auto const& heard = c->ends[1 - side].in;
        CHECK(c->said[side].starts_with(heard));
        if (!c->is_cut) CHECK(!c->ends[side].is_over());
      }
    }
  }

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }

  void step() {
    if (open_.size() < 3 || (open_.size() < 30 && pick(20) == 0)) return begin();
    auto& c = *open_[pick(open_.size())];
    std::size_t const side = pick(2);
    auto& end = c.ends[side];
    if (c.is_cut) {
      resume(c.ends[0]);
      return resume(c.ends[1]);
    }
    switch (pick(8)) {
      case 0:
        end.is_paused = true;
        return;
      case 1:
        return resume(end);
      case 2:
        if (pick(10) == 0) cut(c, side);
        return;
      default:
        return say(c, side);
    }
  }
  void begin() {
    auto& c = *open_.emplace_back(std::make_unique<conversation>());
    auto sockets = pair_();
    for (auto& end : c.ends) end.portion = 1 + pick(pick(4) == 0 ? 2000 : 100'000);
    poller_.add(std::move(sockets.ours), c.ends[0]);
    if (pick(2) == 0) poller_.poll();
    poller_.add(std::move(sockets.theirs), c.ends[1]);
  }
  void say(conversation& c, std::size_t side) {
    auto frame = pattern(1 + pick(pick(4) == 0 ? 200'000 : 50), pick(256));
    c.said[side] += frame;
    c.ends[side].queue(std::move(frame));
    if (pick(4) != 0) poller_.kick(c.ends[side]);
  }
  void cut(conversation& c, std::size_t side) {
    c.is_cut = true;
    poller_.remove(c.ends[side], [&c] { ++c.gone; });
  }
  void resume(test_stream& end) {
    end.is_paused = false;
    poller_.kick(end);
  }

  io::poller& poller_;
  socket_pair (*pair_)();
  std::mt19937 random_;
  std::vector<std::unique_ptr<conversation>> open_;
};

}  // namespace

TEST_CASE("whatever order streams talk, pause and part in, nobody hears what was not said") {
  each_poller_and_socket([](auto make, auto pair) {
    for (unsigned seed = 0; seed < static_cast<unsigned>(rounds(20)); ++seed) {
      CAPTURE(seed);
      auto const p = make();
      random_talk talk(*p, pair, seed);
      talk.run(400);
    }
  });
}
