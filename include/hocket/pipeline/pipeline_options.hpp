// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstdint>
#include <hocket/async/clock.hpp>
#include <hocket/group/process_group.hpp>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>

namespace hocket {

/// How a `pipeline` runs; the same on all its ranks.
class pipeline_options {
 public:
  pipeline_options() = default;

  /// Requests that are between the first stage's start and their result at once; others wait at the
  /// first stage. Default, 0: two for each stage.
  pipeline_options& in_flight(int n) {
    in_flight_ = n;
    return *this;
  }
  /// Calls of one rank's stage function that run at once. Default: 1.
  pipeline_options& concurrent(int n) {
    concurrent_ = n;
    return *this;
  }
  /// Outputs that a stage holds for the next one, which has not taken them yet, and inputs that are
  /// fetched before their turn. A stage without credits starts no request. Default: 2.
  pipeline_options& credits(int n) {
    credits_ = n;
    return *this;
  }
  /// Handles of `submit` settle in the order of the calls. Default: as results come.
  pipeline_options& in_order(bool wanted = true) {
    in_order_ = wanted;
    return *this;
  }
  /// The ranks that work on the same stage of the same requests, each on its own shard: they start
  /// and end each request alike, as the first of them says. Default: the tp-cp group of the state;
  /// of a pipeline over a bare group, none.
  pipeline_options& peers(process_group p) {
    peers_ = std::move(p);
    return *this;
  }
  /// Below 4096. Pipelines over the same stages at the same time need numbers of their own.
  /// Default: 0. Channels of the stages' group and of the peers' belong to it: those whose ids have
  /// bit 61.
  pipeline_options& number(int n) {
    number_ = n;
    return *this;
  }

  /// @{
  /// What was set, or its default.
  [[nodiscard]] int in_flight() const noexcept { return in_flight_; }
  [[nodiscard]] int concurrent() const noexcept { return concurrent_; }
  [[nodiscard]] int credits() const noexcept { return credits_; }
  [[nodiscard]] bool in_order() const noexcept { return in_order_; }
  [[nodiscard]] std::optional<process_group> const& peers() const noexcept { return peers_; }
  [[nodiscard]] int number() const noexcept { return number_; }
  /// @}

 private:
  int in_flight_ = 0;
  int concurrent_ = 1;
  int credits_ = 2;
  bool in_order_ = false;
  std::optional<process_group> peers_;
  int number_ = 0;
};

/// What one request asks for.
class submit_options {
 public:
  submit_options() = default;

  /// From 1 to below 2^48, and of no other open request. Default: counted from 1. Where several
  /// ranks work on the first stage, equal ids are the same request.
  submit_options& id(std::uint64_t n) {
    id_ = n;
    return *this;
  }
  /// Of waiting requests a stage starts the one of the highest priority, of equals the one that
  /// came first. Default: 0.
  submit_options& priority(int p) {
    priority_ = p;
    return *this;
  }
  /// Comes to every stage with the request; a few words or numbers, not data.
  submit_options& note(std::string text) {
    note_ = std::move(text);
    return *this;
  }
  /// At most so long from `submit`; then its handle fails with `errc::timed_out` and the request is
  /// cancelled wherever it is. Default: none.
  submit_options& deadline(clock::duration d) {
    deadline_ = d;
    return *this;
  }
  /// Cancels the request when the token's source is asked to stop.
  submit_options& stop(std::stop_token token) {
    stop_ = std::move(token);
    return *this;
  }

  /// @{
  /// What was set, or its default.
  [[nodiscard]] std::optional<std::uint64_t> const& id() const noexcept { return id_; }
  [[nodiscard]] int priority() const noexcept { return priority_; }
  [[nodiscard]] std::string const& note() const noexcept { return note_; }
  [[nodiscard]] std::optional<clock::duration> const& deadline() const noexcept {
    return deadline_;
  }
  [[nodiscard]] std::stop_token const& stop() const noexcept { return stop_; }
  /// @}

 private:
  std::optional<std::uint64_t> id_;
  int priority_ = 0;
  std::string note_;
  std::optional<clock::duration> deadline_;
  std::stop_token stop_;
};

}  // namespace hocket
