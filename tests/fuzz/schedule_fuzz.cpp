// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Any bytes as a schedule's text: a typed error, or a schedule that comes back from its own text
// and that the checker has a verdict on.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <hocket/error.hpp>
#include <hocket/pipeline/checker.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/schedule_csv.hpp>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::string_view const text(reinterpret_cast<char const*>(data), size);
  try {
    auto const plan = hocket::schedule_from_csv(text);
    hocket::check(plan);
    auto const whole = hocket::with_communication(plan);
    hocket::check(whole);
    if (hocket::schedule_from_csv(hocket::to_csv(plan)) != whole) std::abort();
  } catch (hocket::error const& e) {
    if (e.code().category() != hocket::hocket_category()) std::abort();
  }
  return 0;
}
