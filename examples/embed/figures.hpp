// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/bind_executor.hpp>
#include <chrono>
#include <cstddef>
#include <hocket/async/work.hpp>
#include <memory>
#include <span>
#include <string>
#include <utility>

namespace embed {

/// What one rank did with its time, in seconds.
struct rank_figures {
  double wall = 0;
  double compute = 0;  ///< on its worker
  double exposed = 0;  ///< an operation of a request was in flight and there was nothing to compute
  double hidden = 0;   ///< an operation of a request was in flight behind computation
};

/// Takes one rank's times. Belongs to the rank's executor, which is one thread or a strand.
class rank_clock : public std::enable_shared_from_this<rank_clock> {
 public:
  using time = std::chrono::steady_clock;

  explicit rank_clock(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}

  /// Marks a piece of computation from its submission until its result is noticed.
  class computing {
   public:
    explicit computing(rank_clock& c) : clock_(c) { clock_.step(clock_.computing_, 1); }
    computing(computing const&) = delete;
    computing& operator=(computing const&) = delete;
    ~computing() { clock_.step(clock_.computing_, -1); }

   private:
    rank_clock& clock_;
  };

  /// Adds what a worker measured.
  void add_compute(time::duration busy) noexcept { compute_ += busy; }

  /// Counts the operation as in flight from now until it is done.
  template <class T>
  void watch(hocket::work<T> const& w) {
    if (w.ready()) return;
    step(in_flight_, 1);
    auto done = [self = shared_from_this()](auto const&...) { self->step(self->in_flight_, -1); };
    w.async_wait(boost::asio::bind_executor(executor_, std::move(done)));
  }

  /// The times since this clock was made.
  [[nodiscard]] rank_figures read();

 private:
  void step(int& count, int by) noexcept;

  boost::asio::any_io_executor const executor_;
  time::time_point const begin_ = time::now();
  time::time_point last_ = begin_;
  time::duration compute_{0};
  time::duration exposed_{0};
  time::duration hidden_{0};
  int computing_ = 0;
  int in_flight_ = 0;
};

/// The figures of all ranks as an aligned table under one line that says what the columns mean.
/// World ranks are numbered context-parallel rank first; `sentences` is how many there were.
[[nodiscard]] std::string figures_table(std::span<rank_figures const> figures, int cp,
                                        std::size_t sentences);

}  // namespace embed
