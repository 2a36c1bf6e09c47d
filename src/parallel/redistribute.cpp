// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <exception>
#include <hocket/async/detail/then.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/error.hpp>
#include <hocket/parallel/dtensor.hpp>
#include <hocket/tensor/copy.hpp>
#include <optional>

#include "algorithm/reduce.hpp"
#include "exchange.hpp"
#include "identity.hpp"
#include "mesh_core.hpp"
#include "move_record.hpp"
#include "parallel_core.hpp"
#include "redistribution.hpp"

namespace hocket {
namespace {

namespace asio = boost::asio;
using detail::exchange;
using detail::redistribution;
using detail::tensor_side;

// Above every tag that programs count from 0.
constexpr std::uint64_t first_tag = std::uint64_t{1} << 62;

// One call on one rank.
class move {
 public:
  move(dtensor x, device_mesh t, placements w, process_group g, op_options o,
       std::source_location s)
      : from(std::move(x)),
        to(std::move(t)),
        where(std::move(w)),
        over(std::move(g)),
        options(std::move(o)),
        site(s) {}
  dtensor from;
  device_mesh to;
  placements where;
  process_group over;
  op_options options;
  std::source_location site;
  std::optional<redistribution> plan;
  world_rank me;
  std::exception_ptr unable;  ///< why this rank cannot take part
  tensor all_records;
  work<> agreeing;

  tensor local;     ///< before; undefined without a shard
  tensor_box held;  ///< its block
  tensor out;       ///< after; undefined without a shard
  tensor_box due;   ///< its block
  [[nodiscard]] exchange step(std::uint64_t tag) const { return {over, options, tag, site}; }
};

// Throws for what is wrong on this rank.
void prepare(move& m) {
  auto const& source = m.from.mesh();
  m.plan.emplace(m.from.shape(), tensor_side(source.layout(), m.from.where()),
                 tensor_side(m.to.layout(), m.where));
  // The target's reductions are checked as any dtensor's.
  static_cast<void>(redistribute_bytes(m.from.dtype(), m.from.shape(), source.layout(),
                                       m.from.where(), m.to.layout(), m.where));
  if (!m.over.is_disabled())
    for (auto const* const mesh : {&source.layout(), &m.to.layout()})
      for (auto const r : mesh->ranks()) static_cast<void>(m.over.place_of(r));
  if (m.from.has_local()) m.local = m.from.to_local();
  if (auto const box = m.plan->held_by(m.me)) m.held = *box;
  if (auto const box = m.plan->due_at(m.me)) {
    m.due = *box;
    m.out = tensor::empty(m.from.dtype(), box->extents());
  }
}

void take_traffic(move const& m, exchange const& e) {
  m.to.core()->bytes_received.fetch_add(e.bytes_received(), std::memory_order_relaxed);
}

// The blocks of this rank that stay.
void copy_blocks(move& m) {
  for (auto const& r : m.plan->receives(m.me))
    if (r.peer == m.me)
      copy(detail::block_of(m.out, r.box, m.due), detail::block_of(m.local, r.box, m.held));
}

// The others travel straight to their place.
asio::awaitable<void> move_blocks(move& m, std::uint64_t tag) {
  copy_blocks(m);
  auto e = m.step(tag);
  for (auto const& r : m.plan->receives(m.me))
    if (r.peer != m.me) e.recv(detail::block_of(m.out, r.box, m.due), r.peer);
  for (auto const& s : m.plan->sends(m.me))
    e.send(detail::block_of(m.local, s.box, m.held), s.peer);
  co_await e.run();
  take_traffic(m, e);
}

// One block and everybody's contribution to it.
class reducing {
 public:
  tensor to;
  std::vector<tensor> contributions;
};

void reduce_block(reducing const& r, reduction how) {
  auto const result = r.to.is_contiguous() ? r.to : tensor::empty(r.to.dtype(), r.to.shape());
  std::vector<std::byte const*> in;
  for (auto const& c : r.contributions) in.push_back(c.const_bytes());
  std::byte* const out = result.bytes();
  algorithm::reduce(how, result.dtype(), in, std::span(&out, 1), result.numel());
  if (!result.same_object(r.to)) copy(r.to, result);
}

asio::awaitable<void> reduce_blocks(move& m, std::uint64_t tag) {
  auto e = m.step(tag);
  std::vector<reducing> all;
  for (auto const& r : m.plan->reductions(m.me)) {
    auto& mine = all.emplace_back();
    mine.to = detail::block_of(m.out, r.box, m.due);
    for (auto const peer : r.contributors) {
      if (peer == m.me) {
        mine.contributions.push_back(detail::block_of(m.local, r.box, m.held).contiguous());
        continue;
      }
      mine.contributions.push_back(tensor::empty(m.from.dtype(), r.box.extents()));
      e.recv(mine.contributions.back(), peer);
    }
  }
  for (auto const& s : m.plan->sends(m.me))
    e.send(detail::block_of(m.local, s.box, m.held), s.peer);
  co_await e.run();
  take_traffic(m, e);
  for (auto const& r : all) reduce_block(r, m.plan->how());
}

asio::awaitable<void> hand_on(move& m, std::uint64_t tag) {
  auto e = m.step(tag);
  for (auto const& r : m.plan->receives_after(m.me))
    e.recv(detail::block_of(m.out, r.box, m.due), r.peer);
  for (auto const& s : m.plan->sends_after(m.me))
    e.send(detail::block_of(m.out, s.box, m.due), s.peer);
  co_await e.run();
  take_traffic(m, e);
}

dtensor result_of(move& m) {
  if (m.out.defined())
    return dtensor(std::move(m.out), std::move(m.to), std::move(m.where), m.from.shape());
  return dtensor::elsewhere(m.from.dtype(), device_mesh(m.to.layout()), std::move(m.where),
                            m.from.shape());
}

asio::awaitable<dtensor> carry_out(std::shared_ptr<move> call) {
  move& m = *call;
  auto const tag = first_tag + 2 * m.agreeing.info().sequence;
  co_await std::move(m.agreeing);
  detail::expect_agreement(m.all_records, m.over, m.unable);
  if (m.from.mesh() == m.to && m.from.where() == m.where) co_return m.from;
  if (m.out.defined() && !m.plan->wants(m.me)) detail::fill_identity(m.out, m.where);
  if (m.plan->reduces()) {
    co_await reduce_blocks(m, tag);
    co_await hand_on(m, tag + 1);
  } else {
    co_await move_blocks(m, tag);
  }
  co_return result_of(m);
}

// One rank has all there is, and nobody to reduce with.
work<dtensor> move_alone(move& m) {
  prepare(m);
  if (m.from.mesh() == m.to && m.from.where() == m.where)
    return make_ready_work(nullptr, std::move(m.from));
  copy_blocks(m);
  return make_ready_work(nullptr, result_of(m));
}

// The part of a call that must happen in the order of the calls.
work<dtensor> start(std::shared_ptr<move> const& m) {
  if (m->over.is_disabled()) return move_alone(*m);
  try {
    prepare(*m);
  } catch (...) {
    m->unable = std::current_exception();
  }
  auto const record = detail::record_of(m->from, m->to.layout(), m->where, m->unable != nullptr);
  m->all_records = tensor::empty(dtype::i64, shape(m->over.size(), record.numel()));
  m->agreeing = m->over.all_gather(m->all_records, record, m->options, m->site);
  auto const executor = m->over.get_executor();
  auto const outcome = std::make_shared<promise<dtensor>>(executor, m->site);
  auto result = outcome->get_work();
  asio::co_spawn(executor, carry_out(m), [outcome](std::exception_ptr e, dtensor x) {
    if (e) return outcome->fail(e);
    outcome->set(std::move(x));
  });
  return result;
}

}  // namespace

work<dtensor> redistribute(dtensor x, placements where, op_options const& options,
                           std::source_location site) {
  try {
    auto const mesh = x.mesh();
    auto const me = mesh.rank();
    auto const m =
        std::make_shared<move>(std::move(x), mesh, std::move(where), mesh.whole(), options, site);
    m->me = me;
    return start(m);
  } catch (error const& e) {
    return detail::refused<dtensor>(e, "redistribute", site);
  }
}

work<dtensor> redistribute(dtensor x, device_mesh to, placements where, process_group const& over,
                           op_options const& options, std::source_location site) {
  try {
    auto const me = over.is_disabled() ? to.rank() : over.members().at(over.rank());
    auto const m =
        std::make_shared<move>(std::move(x), std::move(to), std::move(where), over, options, site);
    m->me = me;
    return start(m);
  } catch (error const& e) {
    return detail::refused<dtensor>(e, "redistribute", site);
  }
}

work<tensor> full_tensor(dtensor x, op_options const& options, std::source_location site) {
  std::vector<placement> everywhere(x.defined() ? x.mesh().ndim() : 0);
  auto whole = redistribute(std::move(x), placements(std::move(everywhere)), options, site);
  return detail::then(whole, [](dtensor const& all) { return all.to_local(); });
}

}  // namespace hocket
