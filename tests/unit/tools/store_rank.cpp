// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// A rank of a job that the tests of `hocket run` start: it meets the others at the job's store.
// store_rank meet: each tells its number to all.
// store_rank mourn: rank 1 ends with status 7; the others print what they hear of it.
#include <signal.h>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <cstdio>
#include <future>
#include <hocket/error.hpp>
#include <hocket/launch/deaths.hpp>
#include <hocket/launch/rendezvous.hpp>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

void meet(hocket::store& s, hocket::launch_options const& o) {
  s.set("n/" + std::to_string(o.rank()), std::to_string(o.rank() * 11)).get(20s);
  int sum = 0;
  for (int r = 0; r < o.size(); ++r) sum += std::stoi(s.get("n/" + std::to_string(r)).get(20s));
  std::printf("%d of %d: %d\n", o.rank(), o.size(), sum);
}

int mourn(std::shared_ptr<hocket::store> const& s, hocket::launch_options const& o) {
  ::signal(SIGTERM, SIG_IGN);  // the launcher's, after the death
  s->add("came", 1).get(20s);
  while (s->add("came", 0).get(20s) < o.size()) std::this_thread::sleep_for(5ms);
  if (o.rank() == 1) return 7;
  std::promise<std::string> told;
  hocket::death_watch const watch(s, [&](int rank, std::string_view story) {
    told.set_value(std::to_string(rank) + " " + std::string(story));
  });
  auto heard = told.get_future();
  if (heard.wait_for(20s) != std::future_status::ready) return 1;
  std::printf("heard: %s; %s\n", heard.get().c_str(),
              s->get(hocket::dead_rank_key(1)).get(20s).c_str());
  std::fflush(stdout);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  boost::asio::io_context context(1);
  auto guard = boost::asio::make_work_guard(context);
  std::thread runner([&] { context.run(); });
  int status = 3;
  try {
    auto const o = hocket::launch_options::from_environment();
    auto meeting = hocket::open_store(context.get_executor(), o).get(20s);
    status = 0;
    if (argc > 1 && std::string(argv[1]) == "mourn")
      status = mourn(meeting.store(), o);
    else
      meet(*meeting.store(), o);
    meeting.leave(hocket::op_options().deadline(10s)).get(20s);
  } catch (std::exception const& e) {
    std::printf("%s\n", e.what());
  }
  guard.reset();
  runner.join();
  return status;
}
