// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "slice_exchange.hpp"

#include <fmt/format.h>

#include <hocket/error.hpp>
#include <hocket/tensor/copy.hpp>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "algorithm/slices.hpp"
#include "block_reduction.hpp"
#include "engine/matching/movement.hpp"
#include "exchange.hpp"

namespace hocket::host {
namespace {

using detail::failure;
using detail::make_failure;

std::vector<double> factors_of(matching::meeting const& m, fingerprint const& print) {
  std::vector<double> factors;
  if (print.reduction == reduction::premultiplied_sum)
    for (request const* const r : m.parts) factors.push_back(r->factor);
  return factors;
}

// What another member gives, from `skipped` bytes on.
operand operand_of(remote_call const& c, std::size_t skipped) {
  operand o;
  if (c.is_here) {
    o.here = c.asked.in.const_bytes() + skipped;
    return o;
  }
  o.peer = c.world_rank;
  o.exposure = c.exposure;
  o.offset = skipped;
  o.address = c.gives.front().address + skipped;
  o.seal = c.seal;
  return o;
}

// An exchange that does everything on the thread that drives the fabric, its abort too.
class driven_exchange : public exchange, public chore {
 public:
  driven_exchange(std::shared_ptr<host_hub> at, matching::meeting& m)
      : exchange(std::move(at)),
        meeting_(m),
        own_(*m.parts[static_cast<std::size_t>(hub_->place())]) {}
  void begin() {
    hub_->exchanges().add(*this);
    net().take_up(*this);
  }
  void abort(failure const& why) noexcept override {
    {
      std::lock_guard const lock(abort_mutex_);
      aborted_ = why;
      if (std::exchange(abort_waits_, true)) return;
    }
    net().take_up(aborter_);
  }

 protected:
  [[nodiscard]] fabric& net() const noexcept { return hub_->net(); }
  virtual void aborted(failure const& why) = 0;
  [[nodiscard]] virtual bool is_over() const = 0;
  // It is gone after its last part has ended.
  void end_if_over() noexcept {
    if (!is_over()) return;
    if (!std::exchange(is_unlisted_, true)) hub_->exchanges().remove(*this);
    {
      std::lock_guard const lock(abort_mutex_);
      if (abort_waits_) return;  // its turn ends this
    }
    finished(failure(failure_));
  }
  void fail(failure const& f) {
    if (f.exception && !failure_.exception) failure_ = f;
  }
  request const& own_call() const noexcept override { return own_; }

  matching::meeting& meeting_;
  request& own_;
  failure failure_;

 private:
  class aborter final : public chore {
   public:
    explicit aborter(driven_exchange& e) : to_(e) {}
    bool step() noexcept override {
      failure why;
      {
        std::lock_guard const lock(to_.abort_mutex_);
        to_.abort_waits_ = false;
        why = to_.aborted_;
      }
      if (!to_.is_over()) to_.aborted(why);
      to_.end_if_over();
      return false;
    }

   private:
    driven_exchange& to_;
  };
  std::mutex abort_mutex_;
  failure aborted_;
  bool abort_waits_ = false;
  bool is_unlisted_ = false;
  aborter aborter_{*this};
};

class slice_exchange final : public driven_exchange, public note_listener {
 public:
  slice_exchange(std::shared_ptr<host_hub> at, matching::meeting& m)
      : driven_exchange(std::move(at), m),
        mine_(slice_of(hub_->place())),
        notes_left_(static_cast<int>(m.parts.size()) - 1) {}

  bool step() noexcept override {
    input_exposure_ = std::exchange(own_.exposure, 0);
    ++pending_;  // the reduction
    if (!net().listen(input_exposure_, *this)) {
      notes_left_ = 0;
      auto const why = "nobody needs this rank's input any more: peers are lost, or it is revoked";
      reduced_.came(make_failure(make_error_code(errc::peer_lost), why));
      return false;
    }
    if (failure_.exception) {  // aborted before it began
      net().recall(input_exposure_, failure_);
      reduced_.came(failure(failure_));
      return false;
    }
    auto const f = matching::outcome_of(own_, [this] { prepare(); });
    if (f.exception || mine_.length == 0) {
      reduced_.came(f);
    } else {
      net().take_up(*reduction_);
    }
    return false;
  }

  // -- a peer is ready, or never will be
  void noted(int from, note const& what) noexcept override {
    --notes_left_;
    ++pending_;  // this call
    fail(what.why);
    if (what.exposure != 0) {
      results_.push_back({from, what});
      if (is_reduced_) take_results();
    }
    ended({});
  }

 private:
  template <void (slice_exchange::*Then)(failure const&)>
  class part_done final : public arrival {
   public:
    explicit part_done(slice_exchange& e) : to_(e) {}
    void came(failure const& f) noexcept override { (to_.*Then)(f); }

   private:
    slice_exchange& to_;
  };
  struct result {
    int from;  // rank in the world
    note what;
  };
  // The slice of one rank on its way.
  class transfer final : public arrival {
   public:
    transfer(slice_exchange& to, result const& what) : to_(to), what_(what) {}
    void came(failure const& f) noexcept override {
      to_.hub_->release(what_.from, what_.what.exposure);
      to_.ended(f);
    }

   private:
    slice_exchange& to_;
    result const what_;
  };

  [[nodiscard]] std::size_t element() const { return size_of(own_.print.dtype); }
  [[nodiscard]] algorithm::slice slice_of(int place) const {
    return algorithm::slice_of(own_.print.count, element(), static_cast<int>(meeting_.parts.size()),
                               place);
  }
  [[nodiscard]] bool takes(int place) const {
    return own_.print.kind == op_kind::all_reduce || place == own_.print.root;
  }

  // The output, or what stands in for it, and the operands of this rank's slice.
  void prepare() {
    tensor const source = own_.in.contiguous();
    if (!own_.out.defined()) {
      whole_ = tensor::empty(own_.print.dtype, shape{mine_.length});
      whole_start_ = mine_.start;
    } else if (own_.out.is_contiguous()) {
      whole_ = own_.out;
    } else {
      whole_ = beside_ = tensor::empty(own_.out.dtype(), own_.out.shape());
    }
    source_ = source;
    auto const skipped = static_cast<std::size_t>(mine_.start) * element();
    std::vector<operand> all;
    for (request* const part : meeting_.parts) {
      operand o;
      if (part == &own_) {
        o.here = source.const_bytes() + skipped;
      } else {
        require_gift(remote_call::of(*part), own_.print.dtype, own_.print.count);
        o = operand_of(remote_call::of(*part), skipped);
      }
      all.push_back(std::move(o));
    }
    reduction_.emplace(net(), own_.print, factors_of(meeting_, own_.print), std::move(all),
                       place_of(mine_), mine_.length, reduced_);
  }
  [[nodiscard]] std::byte* place_of(algorithm::slice const& s) const {
    auto const skipped = static_cast<std::size_t>(s.start - whole_start_) * element();
    bool const is_own = own_.out.defined() && !beside_.defined();
    return (is_own ? whole_.bytes(own_.writes) : whole_.bytes()) + skipped;
  }

  void phase_one_ended(failure const& f) {
    fail(f);
    is_reduced_ = true;
    auto const g = matching::outcome_of(own_, [this] { tell_all(); });
    fail(g);
    take_results();
    ended({});
  }

  void tell_all() {
    std::uint64_t exposed = 0;
    if (!failure_.exception && mine_.length > 0) {
      auto e = std::make_unique<exposure>();
      tensor const flat = whole_.reshape(shape{whole_.numel()});
      for (int to = 0; to < static_cast<int>(meeting_.parts.size()); ++to)
        if (to != hub_->place() && takes(to))
          e->add(hub_->world_rank_of(to),
                 {flat.slice(0, mine_.start - whole_start_, mine_.length)});
      if (!e->is_drained()) exposed = net().expose(std::move(e));
      result_exposure_ = exposed;
    }
    for (request* const part : meeting_.parts) {
      if (part == &own_) continue;
      auto const& c = remote_call::of(*part);
      note n;
      n.exposure = takes(part->rank) ? exposed : 0;
      n.address = reinterpret_cast<std::uintptr_t>(exposed == 0 ? nullptr : place_of(mine_));
      n.why = failure_;
      hub_->tell_ready(c.world_rank, c.exposure, n);
    }
    ++pending_;
    failure ignored;
    if (net().is_drained(exposed, drained_, ignored)) ended({});
  }

  void take_results() {
    for (auto const& r : std::exchange(results_, {})) {
      int const place = hub_->place_of(r.from);
      auto const s = slice_of(place);
      bool const wanted_here = takes(hub_->place()) && !failure_.exception && s.length > 0;
      if (!wanted_here) {
        hub_->release(r.from, r.what.exposure);
        continue;
      }
      ++pending_;
      auto& t = *transfers_.emplace_back(std::make_unique<transfer>(*this, r));
      wanted w;
      w.peer = r.from;
      w.exposure = r.what.exposure;
      w.address = r.what.address;
      w.seal = r.what.seal;
      w.to = place_of(s);
      w.bytes = static_cast<std::size_t>(s.length) * element();
      w.then = &t;
      net().fetch(w);
    }
  }

  void ended(failure const& f) {
    fail(f);
    --pending_;
    end_if_over();
  }
  bool is_over() const override { return pending_ == 0 && notes_left_ == 0; }
  void aborted(failure const& why) override {
    ++pending_;  // this call
    fail(why);
    net().recall(input_exposure_, why);
    net().recall(result_exposure_, why);
    for (auto const& t : transfers_) net().cancel(*t, why);
    if (reduction_ && !is_reduced_) reduction_->abort(why);
    --pending_;
  }
  void finished(failure const& f) noexcept override {
    std::unique_ptr<slice_exchange> const self(this);
    failure ignored;
    (void)net().is_drained(input_exposure_, drained_, ignored);  // it is: all have sent notes
    auto outcome = f;
    if (f.exception) {
      outcome = matching::failure_of(own_, f.exception);
    } else if (beside_.defined()) {
      outcome = matching::outcome_of(own_, [this] { copy(own_.out, beside_, own_.writes); });
    }
    meeting_.finish(outcome);
  }

  algorithm::slice const mine_;
  std::uint64_t input_exposure_ = 0;
  std::uint64_t result_exposure_ = 0;
  tensor source_;  // what this rank gives, in one piece
  tensor whole_;   // the result; of a rank that takes none, its slice of it
  tensor beside_;  // is `whole_` where the output's elements lie apart
  std::int64_t whole_start_ = 0;
  std::optional<block_reduction> reduction_;
  bool is_reduced_ = false;
  int notes_left_;
  int pending_ = 0;
  std::vector<result> results_;  // of ranks that are ready, until this one is
  std::vector<std::unique_ptr<transfer>> transfers_;
  part_done<&slice_exchange::phase_one_ended> reduced_{*this};
  part_done<&slice_exchange::ended> drained_{*this};
};

class part_exchange final : public driven_exchange {
 public:
  part_exchange(std::shared_ptr<host_hub> at, matching::meeting& m)
      : driven_exchange(std::move(at), m) {}

  bool step() noexcept override {
    if (failure_.exception) {  // aborted before it began
      came_.came(failure(failure_));
      return false;
    }
    auto const f = matching::outcome_of(own_, [this] { prepare(); });
    if (f.exception) {
      came_.came(f);
    } else {
      net().take_up(*reduction_);
    }
    return false;
  }

 private:
  class done final : public arrival {
   public:
    done(part_exchange& e, void (part_exchange::*then)(failure const&)) : to_(e), then_(then) {}
    void came(failure const& f) noexcept override { (to_.*then_)(f); }

   private:
    part_exchange& to_;
    void (part_exchange::*const then_)(failure const&);
  };

  void prepare() {
    std::vector<operand> all;
    for (request* const part : meeting_.parts) {
      operand o;
      if (part == &own_) {
        o.here = split_view(own_.in, *own_.plan, own_.rank).const_bytes();
      } else {
        require_gift(remote_call::of(*part), own_.print.dtype, own_.out.numel());
        o = operand_of(remote_call::of(*part), 0);
      }
      all.push_back(std::move(o));
    }
    reduction_.emplace(net(), own_.print, factors_of(meeting_, own_.print), std::move(all),
                       own_.out.bytes(own_.writes), own_.out.numel(), came_);
  }
  void reduced(failure const& f) {
    fail(f);
    is_reduced_ = true;
    for (request* const part : meeting_.parts)
      if (part != &own_) hub_->release_gift(remote_call::of(*part));
    exposure_ = std::exchange(own_.exposure, 0);
    failure complaint;
    if (net().is_drained(exposure_, drained_, complaint)) drained(complaint);
  }
  void drained(failure const& f) {
    fail(f);
    is_drained_ = true;
    end_if_over();
  }
  bool is_over() const override { return is_drained_; }
  void aborted(failure const& why) override {
    fail(why);
    if (is_reduced_) {
      net().recall(exposure_, why);
    } else {
      net().recall(own_.exposure, why);
      if (reduction_) reduction_->abort(why);
    }
  }
  void finished(failure const& f) noexcept override {
    std::unique_ptr<part_exchange> const self(this);
    auto outcome = f;
    if (f.exception) outcome = matching::failure_of(own_, f.exception);
    meeting_.finish(outcome);
  }

  std::optional<block_reduction> reduction_;
  bool is_reduced_ = false;
  bool is_drained_ = false;
  std::uint64_t exposure_ = 0;
  done came_{*this, &part_exchange::reduced};
  done drained_{*this, &part_exchange::drained};
};

}  // namespace

bool goes_in_slices(fingerprint const& print, int members) noexcept {
  if (print.kind != op_kind::all_reduce && print.kind != op_kind::reduce) return false;
  return algorithm::reduces_in_slices(static_cast<std::size_t>(print.count) * size_of(print.dtype),
                                      members);
}

void carry_in_slices(std::shared_ptr<host_hub> at, matching::meeting& m) noexcept {
  (new slice_exchange(std::move(at), m))->begin();
}

bool reduces_one_piece(request const& own) {
  if (own.plan->pieces(own.rank).size() != 1 || !own.out.is_contiguous()) return false;
  auto const part = split_view(own.in, *own.plan, own.rank);
  return part.is_contiguous() && part.numel() == own.out.numel();
}

void carry_part(std::shared_ptr<host_hub> at, matching::meeting& m) noexcept {
  (new part_exchange(std::move(at), m))->begin();
}

}  // namespace hocket::host
