// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <cstdio>
#include <hocket/error.hpp>
#include <hocket/version.hpp>

int main() {
  hocket::error const e(hocket::errc::mismatch, "seen by a consumer");
  std::printf("hocket %s: %s\n", hocket::version(), e.what());
  return e.code() == hocket::errc::mismatch ? 0 : 1;
}
