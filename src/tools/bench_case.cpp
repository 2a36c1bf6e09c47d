// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// The operations that `hocket bench` measures: their buffers, calls and expected results.
#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "bench.hpp"

namespace hocket::tools {
namespace {

namespace asio = boost::asio;

constexpr auto float_bytes = std::int64_t{sizeof(float)};

// Small whole numbers: their sums are exact in any order.
float value_of(std::int64_t rank, std::int64_t index) {
  return static_cast<float>((rank * 31 + index * 7) % 61);
}

tensor floats(std::int64_t n) { return tensor::zeros(dtype::f32, shape{n}); }

// A case of tensors: `whole_` has a part for each rank where the operation knows parts.
class tensor_case : public bench_case {
 public:
  tensor_case(process_group g, std::int64_t bytes, placement where)
      : group_(std::move(g)), where_(where), n_(group_.size()), me_(group_.rank().value()) {
    count_ = std::max<std::int64_t>((bytes + float_bytes - 1) / float_bytes, 1);
    part_ = (count_ + n_ - 1) / n_;
  }

 protected:
  [[nodiscard]] bool in_place() const { return where_ == placement::in_place; }
  [[nodiscard]] tensor own_part(tensor const& whole) const {
    return whole.slice(0, me_ * part_, part_);
  }
  static void put(tensor const& t, auto&& f) {
    float* const at = t.data<float>();
    for (std::int64_t i = 0; i < t.numel(); ++i) at[i] = f(i);
  }
  static std::int64_t differing(tensor const& t, auto&& f) {
    float const* const at = t.const_data<float>();
    std::int64_t wrong = 0;
    for (std::int64_t i = 0; i < t.numel(); ++i) wrong += at[i] != f(i) ? 1 : 0;
    return wrong;
  }
  void spoil(tensor const& t) const {
    put(t, [](std::int64_t) { return -1.0F; });
  }
  [[nodiscard]] float sum_at(std::int64_t index) const {
    float sum = 0;
    for (int r = 0; r < n_; ++r) sum += value_of(r, index);
    return sum;
  }

  process_group group_;
  placement const where_;
  std::int64_t const n_;
  std::int64_t const me_;
  std::int64_t count_ = 0;  // elements
  std::int64_t part_ = 0;   // elements of a rank's part
};

class all_gather_case final : public tensor_case {
 public:
  using tensor_case::tensor_case;
  std::int64_t bytes() const override { return out_.numel() * float_bytes; }
  void fill() override {
    spoil(out_);
    put(in_, [this](std::int64_t i) { return value_of(me_, i); });
  }
  asio::awaitable<void> once() override {
    auto w = group_.all_gather(out_, in_);
    co_await std::move(w);
  }
  std::int64_t wrong() const override {
    return differing(out_, [this](std::int64_t i) { return value_of(i / part_, i % part_); });
  }

 private:
  tensor out_ = floats(part_ * n_);
  tensor in_ = in_place() ? own_part(out_) : floats(part_);
};

class all_reduce_case final : public tensor_case {
 public:
  using tensor_case::tensor_case;
  std::int64_t bytes() const override { return count_ * float_bytes; }
  void fill() override {
    spoil(out_);
    put(in_, [this](std::int64_t i) { return value_of(me_, i); });
  }
  asio::awaitable<void> once() override {
    auto w = group_.all_reduce(out_, in_);
    co_await std::move(w);
  }
  std::int64_t wrong() const override {
    return differing(out_, [this](std::int64_t i) { return sum_at(i); });
  }

 private:
  tensor out_ = floats(count_);
  tensor in_ = in_place() ? out_ : floats(count_);
};

class reduce_case final : public tensor_case {
 public:
  using tensor_case::tensor_case;
  std::int64_t bytes() const override { return count_ * float_bytes; }
  void fill() override {
    spoil(out_);
    put(in_, [this](std::int64_t i) { return value_of(me_, i); });
  }
  asio::awaitable<void> once() override {
    auto w = group_.reduce(out_, in_, reduction::sum, group_rank(0));
    co_await std::move(w);
  }
  std::int64_t wrong() const override {
    if (me_ != 0) return 0;
    return differing(out_, [this](std::int64_t i) { return sum_at(i); });
  }

 private:
  tensor out_ = floats(count_);
  tensor in_ = in_place() ? out_ : floats(count_);
};

class reduce_scatter_case final : public tensor_case {
 public:
  using tensor_case::tensor_case;
  std::int64_t bytes() const override { return in_.numel() * float_bytes; }
  void fill() override {
    spoil(out_);
    put(in_, [this](std::int64_t i) { return value_of(me_, i); });
  }
  asio::awaitable<void> once() override {
    auto w = group_.reduce_scatter(out_, in_);
    co_await std::move(w);
  }
  std::int64_t wrong() const override {
    return differing(out_, [this](std::int64_t i) { return sum_at(me_ * part_ + i); });
  }

 private:
  tensor in_ = floats(part_ * n_);
  tensor out_ = in_place() ? own_part(in_) : floats(part_);
};

class broadcast_case final : public tensor_case {
 public:
  using tensor_case::tensor_case;
  std::int64_t bytes() const override { return count_ * float_bytes; }
  void fill() override {
    spoil(t_);
    if (me_ == 0) put(t_, [](std::int64_t i) { return value_of(0, i); });
  }
  asio::awaitable<void> once() override {
    auto w = group_.broadcast(t_, group_rank(0));
    co_await std::move(w);
  }
  std::int64_t wrong() const override {
    return differing(t_, [](std::int64_t i) { return value_of(0, i); });
  }

 private:
  tensor t_ = floats(count_);
};

class all_to_all_case final : public tensor_case {
 public:
  using tensor_case::tensor_case;
  std::int64_t bytes() const override { return in_.numel() * float_bytes; }
  void fill() override {
    spoil(out_);
    put(in_, [this](std::int64_t i) { return value_of(me_, i); });
  }
  asio::awaitable<void> once() override {
    auto w = group_.all_to_all(out_, in_);
    co_await std::move(w);
  }
  std::int64_t wrong() const override {
    return differing(
        out_, [this](std::int64_t i) { return value_of(i / part_, me_ * part_ + i % part_); });
  }

 private:
  tensor out_ = floats(part_ * n_);
  tensor in_ = in_place() ? out_ : floats(part_ * n_);
};

// Each rank sends to the next and receives from the one before.
class send_recv_case final : public tensor_case {
 public:
  using tensor_case::tensor_case;
  std::int64_t bytes() const override { return count_ * float_bytes; }
  void fill() override {
    spoil(out_);
    put(in_, [this](std::int64_t i) { return value_of(me_, i); });
  }
  asio::awaitable<void> once() override {
    auto sent = group_.send(in_, group_rank(static_cast<int>((me_ + 1) % n_)));
    auto got = group_.recv(out_, group_rank(static_cast<int>(before())));
    co_await std::move(got);
    co_await std::move(sent);
  }
  std::int64_t wrong() const override {
    return differing(out_, [this](std::int64_t i) { return value_of(before(), i); });
  }

 private:
  [[nodiscard]] std::int64_t before() const { return (me_ + n_ - 1) % n_; }
  tensor out_ = floats(count_);
  tensor in_ = floats(count_);
};

class gather_case final : public tensor_case {
 public:
  using tensor_case::tensor_case;
  std::int64_t bytes() const override { return out_.numel() * float_bytes; }
  void fill() override {
    spoil(out_);
    put(in_, [this](std::int64_t i) { return value_of(me_, i); });
  }
  asio::awaitable<void> once() override {
    auto w = group_.gather(out_, in_, group_rank(0));
    co_await std::move(w);
  }
  std::int64_t wrong() const override {
    if (me_ != 0) return 0;
    return differing(out_, [this](std::int64_t i) { return value_of(i / part_, i % part_); });
  }

 private:
  tensor out_ = floats(part_ * n_);
  tensor in_ = in_place() ? own_part(out_) : floats(part_);
};

class scatter_case final : public tensor_case {
 public:
  using tensor_case::tensor_case;
  std::int64_t bytes() const override { return in_.numel() * float_bytes; }
  void fill() override {
    spoil(out_);
    put(in_, [](std::int64_t i) { return value_of(0, i); });
  }
  asio::awaitable<void> once() override {
    auto w = group_.scatter(out_, in_, group_rank(0));
    co_await std::move(w);
  }
  std::int64_t wrong() const override {
    return differing(out_, [this](std::int64_t i) { return value_of(0, me_ * part_ + i); });
  }

 private:
  tensor in_ = floats(part_ * n_);
  tensor out_ = floats(part_);
};

class barrier_case final : public tensor_case {
 public:
  using tensor_case::tensor_case;
  std::int64_t bytes() const override { return 0; }
  void fill() override {}
  asio::awaitable<void> once() override {
    auto w = group_.barrier();
    co_await std::move(w);
  }
  std::int64_t wrong() const override { return 0; }
};

class broadcast_object_case final : public tensor_case {
 public:
  broadcast_object_case(process_group const& g, std::int64_t bytes, placement where)
      : tensor_case(g, bytes, where), text_(static_cast<std::size_t>(bytes), 'x') {
    for (std::size_t i = 0; i < text_.size(); ++i) text_[i] = static_cast<char>('a' + i % 23);
  }
  std::int64_t bytes() const override { return static_cast<std::int64_t>(text_.size()); }
  void fill() override { got_.clear(); }
  asio::awaitable<void> once() override {
    std::optional<std::string> mine;
    if (me_ == 0) mine = text_;
    auto w = group_.broadcast_object<std::string>(std::move(mine), group_rank(0));
    got_ = co_await std::move(w);
  }
  std::int64_t wrong() const override { return got_ == text_ ? 0 : 1; }

 private:
  std::string text_;
  std::string got_;
};

template <class Case, bool HasOut, bool HasIn>
std::unique_ptr<bench_case> make(process_group const& g, std::int64_t bytes, placement where) {
  if (where == placement::out_of_place ? !HasOut : !HasIn) return nullptr;
  return std::make_unique<Case>(g, bytes, where);
}

struct known_op {
  std::string_view name;
  std::unique_ptr<bench_case> (*make)(process_group const&, std::int64_t, placement);
};

constexpr std::array<known_op, 11> known{{
    {"all_gather", make<all_gather_case, true, true>},
    {"all_reduce", make<all_reduce_case, true, true>},
    {"reduce", make<reduce_case, true, true>},
    {"reduce_scatter", make<reduce_scatter_case, true, true>},
    {"broadcast", make<broadcast_case, false, true>},
    {"all_to_all", make<all_to_all_case, true, true>},
    {"send_recv", make<send_recv_case, true, false>},
    {"gather", make<gather_case, true, true>},
    {"scatter", make<scatter_case, true, false>},
    {"barrier", make<barrier_case, true, false>},
    {"broadcast_object", make<broadcast_object_case, true, false>},
}};

}  // namespace

std::vector<std::string_view> bench_ops() {
  std::vector<std::string_view> names;
  for (auto const& op : known) names.push_back(op.name);
  return names;
}

std::unique_ptr<bench_case> make_bench_case(std::string_view op, process_group const& group,
                                            std::int64_t bytes, placement where) {
  auto const found = std::ranges::find(known, op, &known_op::name);
  return found->make(group, bytes, where);
}

}  // namespace hocket::tools
