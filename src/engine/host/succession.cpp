// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "succession.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <sstream>
#include <utility>

#include "host_hub.hpp"
#include "host_joiner.hpp"

namespace hocket::host {
namespace {

using detail::make_failure;

// Of each call of the store that does not wait for somebody.
constexpr auto store_patience = std::chrono::seconds(10);

op_options promptly() { return op_options().deadline(store_patience); }

std::string text_of(std::vector<int> const& places) {
  return fmt::format("{}", fmt::join(places, " "));
}

std::vector<int> places_of(std::string const& text) {
  std::istringstream from(text);
  std::vector<int> all;
  for (int place = 0; from >> place;) all.push_back(place);
  return all;
}

}  // namespace

class succession::heir final : public detail::value_state<membership> {
 public:
  heir(detail::port_ptr home, std::shared_ptr<succession> at)
      : value_state(std::move(home)), at_(std::move(at)) {}
  bool drive() override { return at_->from_->rt().drive(); }
  /// The way is over: the two objects let go of each other.
  void part() noexcept { at_.reset(); }

 protected:
  void waits_ended() noexcept override {
    if (auto const at = at_) at->withdrawn();
  }

 private:
  std::shared_ptr<succession> at_;
};

// Closes the membership when its time has come.
class succession::alarm final : public detail::op_state<void> {
 public:
  explicit alarm(std::weak_ptr<succession> at) : op_state(nullptr), at_(std::move(at)) {}
  [[nodiscard]] std::monostate take() override { return {}; }

 protected:
  void drop_value() noexcept override { at_.reset(); }
  void waits_ended() noexcept override {
    if (auto const at = at_.lock()) at->propose();
  }

 private:
  std::weak_ptr<succession> at_;
};

// Goes on when this member has got into the group that goes on, or has not.
class succession::entrance final : public detail::continuation {
 public:
  entrance(std::shared_ptr<succession> way, work<std::shared_ptr<endpoint>> const& joining,
           group_spec spec)
      : way_(std::move(way)), joining_(joining.state()), spec_(std::move(spec)) {
    continuation::run = [](continuation* c) noexcept {
      std::unique_ptr<entrance> const self(static_cast<entrance*>(c));
      if (self->joining_->failed()) return self->way_->end(self->joining_->why());
      membership m;
      m.spec = std::move(self->spec_);
      m.at = self->joining_->take();
      self->way_->admitted(std::move(m));
    };
  }
  void begin() {
    auto const joining = joining_;  // this object may be gone before the call returns
    joining->when_settled(*this);
  }

 private:
  std::shared_ptr<succession> const way_;
  detail::op_ptr<std::shared_ptr<endpoint>> const joining_;
  group_spec spec_;
};

succession::succession(std::shared_ptr<host_hub> from, detail::port_ptr home,
                       std::source_location site)
    : from_(std::move(from)),
      site_(site),
      store_(from_->net().heirs().at.lock()),
      home_(std::move(home)) {}

succession::~succession() {
  pending_.request_stop();
  round_.request_stop();
}

std::string succession::key(std::string const& what) const {
  return fmt::format("rebuild/{:016x}/{}", from_->id(), what);
}

work<membership> succession::make_handle() {
  op_.reset(new heir(home_, shared_from_this()), false);
  op_->mutable_info().operation = "rebuild";
  op_->mutable_info().group = from_->label().c_str();
  op_->mutable_info().site = site_;
  return work<membership>{detail::op_ptr<membership>(op_)};
}

work<membership> succession::refuse(errc code, std::string const& why) {
  auto result = make_handle();
  fail(code, why);
  return result;
}

work<membership> succession::begin(clock::duration deadline) {
  auto result = make_handle();
  if (!store_) {
    fail(errc::unsupported, "there is no store to agree in");
    return result;
  }
  if (deadline > clock::duration::zero() && deadline != clock::duration::max()) {
    limit_.reset(new alarm(weak_from_this()), false);
    from_->rt().arm(*limit_, deadline);
  }
  bool const at_once = deadline <= clock::duration::zero();
  auto const weak = weak_from_this();
  // A membership that is closed already is heard first: this member may have been in it.
  store_->get(key("members"), op_options().no_deadline().stop(pending_.get_token()))(
      [weak](std::exception_ptr e, std::string const& members) {
        auto const self = weak.lock();
        if (!self || self->is_over()) return;
        if (e) return self->fail(e);
        self->closed(members);
      });
  store_->set(key(std::to_string(from_->place())), "here",
              promptly())([weak, at_once](std::exception_ptr e) {
    auto const self = weak.lock();
    if (!self || self->is_over()) return;
    if (e) return self->fail(e);
    self->registered();
    if (at_once) self->propose();
  });
  return result;
}

void succession::registered() {
  {
    std::lock_guard const lock(mutex_);
    is_registered_ = true;
  }
  wait_for_all();
}

void succession::member_left() {
  {
    std::lock_guard const lock(mutex_);
    if (!is_registered_ || is_closed_) return;
  }
  wait_for_all();
}

// Until nobody is missing who may come.
void succession::wait_for_all() {
  store::key_list keys;
  int const n = from_->spec().members.size();
  for (int place = 0; place < n; ++place)
    if (place == from_->place() || !from_->departure_of(place))
      keys.push_back(key(std::to_string(place)));
  std::stop_source round;
  {
    std::lock_guard const lock(mutex_);
    round_.request_stop();
    round_ = round;
  }
  store_->wait(std::move(keys), op_options().no_deadline().stop(round.get_token()))(
      [weak = weak_from_this(), round](std::exception_ptr e) {
        auto const self = weak.lock();
        if (!self || round.stop_requested() || self->is_over()) return;
        if (e) return self->fail(e);
        self->propose();
      });
}

void succession::propose() {
  {
    std::lock_guard const lock(mutex_);
    if (is_closed_ || std::exchange(is_proposing_, true)) return;
  }
  ask_next(0, {});
}

// One after another: who has registered and is not known to be lost.
void succession::ask_next(int place, std::vector<int> came) {
  if (place == from_->spec().members.size()) return close_with(came);
  if (from_->departure_of(place) == errc::peer_lost) return ask_next(place + 1, std::move(came));
  store::key_list one;
  one.push_back(key(std::to_string(place)));
  store_->check(std::move(one),
                promptly())([weak = weak_from_this(), place, came = std::move(came)](
                                std::exception_ptr e, bool is_here) mutable {
    auto const self = weak.lock();
    if (!self || self->is_over()) return;
    if (e) return self->fail(e);
    if (is_here) came.push_back(place);
    self->ask_next(place + 1, std::move(came));
  });
}

void succession::close_with(std::vector<int> const& came) {
  store_->compare_set(key("members"), "", text_of(came), promptly())(
      [weak = weak_from_this()](std::exception_ptr e, std::string const& members) {
        auto const self = weak.lock();
        if (!self || self->is_over()) return;
        if (e) return self->fail(e);
        self->closed(members);
      });
}

void succession::closed(std::string const& members) {
  {
    std::lock_guard const lock(mutex_);
    if (std::exchange(is_closed_, true)) return;
    round_.request_stop();
  }
  auto const places = places_of(members);
  if (std::ranges::find(places, from_->place()) != places.end()) return enter(places);
  std::vector<int> ranks;
  for (int const p : places) ranks.push_back(from_->world_rank_of(p));
  fail(errc::excluded,
       fmt::format("{} came after the membership was closed: epoch {} of group {} is [{}]",
                   from_->name_of_member(from_->place()), from_->spec().epoch + 1,
                   from_->spec().name, fmt::join(ranks, ",")));
}

void succession::enter(std::vector<int> const& places) {
  group_spec next = from_->spec();
  ++next.epoch;
  std::vector<world_rank> members;
  for (int const p : places) {
    if (p == from_->place()) next.rank = group_rank(static_cast<int>(members.size()));
    members.emplace_back(from_->world_rank_of(p));
  }
  next.members = rank_group(members);
  auto const& heirs = from_->net().heirs();
  auto const joiner = heirs.joiner.lock();
  if (!joiner) return fail(errc::group_closed, "this rank has left its world");
  auto const joining = joiner->join(next, home_, site_, heirs.engine, from_->id());
  (new entrance(shared_from_this(), joining, std::move(next)))->begin();
}

void succession::withdrawn() {
  fail(errc::peer_failed, "this member's wait was cancelled");
  if (store_)
    store_->erase(key(std::to_string(from_->place())), promptly())([](std::exception_ptr, bool) {});
}

boost::intrusive_ptr<succession::heir> succession::current() {
  std::lock_guard const lock(mutex_);
  return op_;
}

bool succession::is_over() { return current() == nullptr; }

boost::intrusive_ptr<succession::heir> succession::take_op() {
  pending_.request_stop();
  std::lock_guard const lock(mutex_);
  limit_.reset();
  return std::move(op_);
}

void succession::admitted(membership m) {
  auto const op = take_op();
  if (!op) return;
  from_->note_rebuilt();
  op->store(std::move(m));
  op->finish();
  op->part();
}

void succession::end(detail::failure const& why) {
  auto const op = take_op();
  if (!op) return;
  op->finish(why);
  op->part();
}

void succession::fail(errc code, std::string const& why) {
  if (auto const op = current())
    end(make_failure(make_error_code(code), to_string(op->info()) + ": " + why));
}

void succession::fail(std::exception_ptr const& e) { end(detail::failure_from(e)); }

}  // namespace hocket::host
