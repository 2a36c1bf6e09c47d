// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/async/runtime.hpp>

#include "io_support.hpp"

using namespace hocket_test;

namespace {

class poller_source final : public progress_source {
 public:
  explicit poller_source(std::unique_ptr<io::poller> p) : sockets(std::move(p)) {}
  bool progress() noexcept override { return sockets->poll(); }
  int wake_fd() const noexcept override { return sockets->wake_fd(); }

  std::unique_ptr<io::poller> const sockets;
};

// Waits for as many bytes as it has room for.
std::string receive_all(int socket, std::size_t size) {
  std::string bytes(size, '\0');
  for (std::size_t n = 0; n < size;) {
    pollfd readable{socket, POLLIN, 0};
    if (::poll(&readable, 1, 30000) != 1) return "timed out";
    ssize_t const got = ::read(socket, bytes.data() + n, size - n);
    if (got <= 0) return "ended";
    n += static_cast<std::size_t>(got);
  }
  return bytes;
}

}  // namespace

TEST_CASE("a runtime's sleeping thread is woken by the sockets of its poller") {
  each_poller_and_socket([](auto make, auto pair) {
    poller_source source(make());
    test_stream echo;
    echo.on_read = [&] {
      echo.queue(std::exchange(echo.in, {}));
      source.sockets->kick(echo);
    };
    auto ends = pair();
    source.sockets->add(std::move(ends.ours), echo);
    runtime rt;
    rt.handle().attach(source);
    for (std::size_t i = 0; i < 500; ++i) {
      auto const said = pattern(1 + i % 300, i);
      REQUIRE(::write(ends.theirs.get(), said.data(), said.size()) ==
              static_cast<ssize_t>(said.size()));
      REQUIRE(receive_all(ends.theirs.get(), said.size()) == said);
    }
    rt.handle().detach(source);
  });
}
