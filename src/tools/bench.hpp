// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <cstdint>
#include <hocket/group/process_group.hpp>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hocket::tools {

/// Whether an operation writes its result over its input.
enum class placement { out_of_place, in_place };

/// What a measurement is of.
struct bench_plan {
  std::string op;
  std::string engine;  ///< local, host-shm, host-tcp
  int ranks = 2;
  std::vector<std::int64_t> bytes;
  double seconds = 0.2;  ///< for each number of bytes and placement
  bool sleeps = false;   ///< nobody spins while it waits
  bool explain = false;
  bool json = false;
};

/// One operation, with its buffers, on one rank.
class bench_case {
 public:
  virtual ~bench_case() = default;
  /// Of the larger buffer, as nccl-tests count: of a gather the whole, of a scatter too.
  [[nodiscard]] virtual std::int64_t bytes() const = 0;
  /// Puts f(rank, index) into the input and something else into the output.
  virtual void fill() = 0;
  virtual boost::asio::awaitable<void> once() = 0;
  /// How many elements of the result differ from what the ranks' f makes them.
  [[nodiscard]] virtual std::int64_t wrong() const = 0;
};

/// The operations that there are.
[[nodiscard]] std::vector<std::string_view> bench_ops();
/// Null where the operation has no such placement. `bytes` is rounded up to equal parts.
[[nodiscard]] std::unique_ptr<bench_case> make_bench_case(std::string_view op,
                                                          process_group const& group,
                                                          std::int64_t bytes, placement where);

/// What came out for one number of bytes.
struct bench_row {
  std::int64_t bytes = 0;
  placement where = placement::out_of_place;
  double time_us = 0;
  double algbw = 0;  ///< bytes a nanosecond: GB/s
  double busbw = 0;  ///< what each rank's link carries, comparable between operations
  std::int64_t wrong = 0;
};

/// Measures as one rank of the group; rows on rank 0 only.
[[nodiscard]] boost::asio::awaitable<std::vector<bench_row>> measure(process_group group,
                                                                     bench_plan const& plan);
/// Which way an operation's bytes go.
[[nodiscard]] std::string bench_way(bench_plan const& plan, std::int64_t bytes);
/// Writes the rows to standard output.
void print_rows(bench_plan const& plan, std::vector<bench_row> const& rows);

}  // namespace hocket::tools
