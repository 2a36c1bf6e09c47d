// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Orders on a V: each rank has one stage on the way down and one on the way up, so that the last
// rank turns a microbatch round without a message and rank 0 has the first and the last stage.
#include <algorithm>
#include <array>
#include <deque>

#include "pipeline/rank_orders.hpp"

namespace hocket {
namespace {

enum class arm { down, up };

// Writes the next microbatch of an arm; each arm takes its microbatches in order.
class v_writer {
 public:
  explicit v_writer(rank_writer& out) : out_(out) {}

  void forward(arm a) { out_.add(action_kind::forward, index(a), forwards_[at(a)]++); }
  void backward(arm a) { out_.add(action_kind::backward, index(a), backwards_[at(a)]++); }
  // The weights' gradient becomes due.
  void input(arm a) {
    int const m = backwards_[at(a)]++;
    out_.add(action_kind::backward_input, index(a), m);
    due_[at(a)].push_back({inputs_++, m});
  }
  // The one of this arm that is due longest, if any is.
  void weight(arm a) {
    auto& mine = due_[at(a)];
    if (mine.empty()) return;
    out_.add(action_kind::backward_weight, index(a), mine.front().microbatch);
    mine.pop_front();
  }
  // The one of either arm.
  void weight() {
    auto const& down = due_[at(arm::down)];
    auto const& up = due_[at(arm::up)];
    bool const is_down = up.empty() || (!down.empty() && down.front().since < up.front().since);
    weight(is_down ? arm::down : arm::up);
  }
  void all_weights() {
    while (!due_[0].empty() || !due_[1].empty()) weight();
  }
  void input_and_weight(arm a) {
    input(a);
    weight(a);
  }
  [[nodiscard]] int forwards(arm a) const { return forwards_[at(a)]; }

 private:
  struct due {
    int since;
    int microbatch;
  };
  static int index(arm a) { return static_cast<int>(a); }
  static std::size_t at(arm a) { return static_cast<std::size_t>(a); }

  rank_writer& out_;
  std::array<int, 2> forwards_{};
  std::array<int, 2> backwards_{};
  std::array<std::deque<due>, 2> due_;
  int inputs_ = 0;
};

template <class Step>
void repeat(int times, Step const& step) {
  for (int i = 0; i < times; ++i) step();
}

}  // namespace

// The hand-made order of Qi et al., "Pipeline Parallelism with Controllable Memory" (2024), for
// equal costs of F, I and W. It is regular from 2p - 1 microbatches on.
void order_zbv(rank_writer& out) {
  int const p = out.ranks();
  int const r = out.rank();
  int const count = std::max(out.microbatches(), 2 * p - 1);
  v_writer v(out);
  repeat(2 * (p - r) - 1, [&] { v.forward(arm::down); });
  repeat(r, [&] {
    v.forward(arm::up);
    v.forward(arm::down);
  });
  repeat(p - r, [&] {
    v.forward(arm::up);
    v.input_and_weight(arm::up);
  });
  while (v.forwards(arm::up) < count) {
    if (v.forwards(arm::down) < count) v.forward(arm::down);
    v.input_and_weight(arm::down);
    v.forward(arm::up);
    v.input_and_weight(arm::up);
  }
  repeat(r, [&] {
    v.input(arm::down);
    v.input(arm::up);
  });
  repeat(p - r, [&] {
    v.input(arm::down);
    v.weight(arm::down);
  });
  repeat(r, [&] { v.weight(arm::up); });
  v.all_weights();
}

// The order of DeepSeek's DualPipeV (deepseek-ai/DualPipe, 2025), a DualPipe cut in half. It is
// regular from 2p microbatches on. A forward and a backward that stand side by side in the middle
// are meant to overlap; here they follow one another.
void order_dualpipev(rank_writer& out) {
  int const p = out.ranks();
  int const r = out.rank();
  int const count = std::max(out.microbatches(), 2 * p);
  v_writer v(out);
  repeat(2 * (p - r - 1), [&] { v.forward(arm::down); });
  repeat(r + 1, [&] {
    v.forward(arm::down);
    v.forward(arm::up);
  });
  repeat(p - r - 1, [&] {
    v.input_and_weight(arm::up);
    v.forward(arm::up);
  });
  repeat(count - 2 * p + r + 1, [&] {
    v.forward(arm::down);
    v.backward(arm::up);
    v.forward(arm::up);
    v.backward(arm::down);
  });
  repeat(p - r - 1, [&] {
    v.backward(arm::up);
    v.forward(arm::up);
    v.backward(arm::down);
  });
  // The second half of what is left is cut into I and W: the gradients hurry down, the Ws follow
  // where the rank waits for them.
  for (int left = 2 * (r + 1); left > 0; --left) {
    auto const a = left % 2 == 0 ? arm::up : arm::down;
    if (left > r + 1)
      v.backward(a);
    else
      v.input(a);
  }
  repeat(p - r - 1, [&] {
    v.weight();
    v.input(arm::down);
  });
  v.all_weights();
}

}  // namespace hocket
