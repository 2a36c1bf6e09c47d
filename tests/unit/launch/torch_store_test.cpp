// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// Our client at PyTorch's TCPStore, and PyTorch's client at our server: where PyTorch is installed.
#include <cstdio>
#include <sstream>

#include "run_program.hpp"
#include "store_support.hpp"

using namespace hocket;
using namespace hocket::test;

namespace {

bool has_torch() {
  static bool const found =
      run_program("timeout 60 python3 -c 'import torch.distributed' 2>/dev/null").status == 0;
  if (!found) MESSAGE("skipped: python3 finds no torch.distributed");
  return found;
}

constexpr auto head =
    "import torch.distributed as d, datetime, sys\n"
    "def store(port, master): return d.TCPStore('127.0.0.1', port, None, master,\n"
    "    timeout=datetime.timedelta(seconds=30), wait_for_workers=False)\n";

// A script that is told nothing and whose lines can be read while it runs.
class script {
 public:
  explicit script(std::string const& text)
      : pipe_(::popen(("timeout 60 python3 -c \"" + (head + text) + "\" 2>&1").c_str(), "r")) {
    REQUIRE(pipe_ != nullptr);
  }
  script(script const&) = delete;
  script& operator=(script const&) = delete;
  ~script() { ::pclose(pipe_); }
  std::string line() {
    char text[4096] = "";
    if (std::fgets(text, sizeof text, pipe_) == nullptr) return {};
    std::string all(text);
    if (!all.empty() && all.back() == '\n') all.pop_back();
    return all;
  }

 private:
  std::FILE* pipe_;
};

}  // namespace

TEST_CASE("our client finds out how PyTorch's server wants to be spoken to") {
  if (!has_torch()) return;
  script torch(
      "s = store(0, True)\n"
      "s.set('from torch', 'torch says 1')\n"
      "print(s.port, flush=True)\n"
      "print(s.get('from hocket').decode(), s.add('n', 2), flush=True)\n"
      "s.wait(['done'])\n");
  auto const port = static_cast<std::uint16_t>(std::stoi(torch.line()));
  loop l;
  auto const c = connected(l, tcp_store_options().address("127.0.0.1", port).plain(true));
  CHECK(c->get("from torch").get(20s) == "torch says 1");
  auto const missed = outcome_of(c->get("never", op_options().deadline(200ms)));
  CHECK(missed.code == errc::timed_out);
  auto const later = c->get("later");
  CHECK(c->add("n", 40).get(20s) == 40);
  c->set("from hocket", "hocket says 2").get(20s);
  CHECK(torch.line() == "hocket says 2 42");
  CHECK(c->check({"n", "from torch"}).get(20s));
  CHECK(!c->check({"n", "later"}).get(20s));
  CHECK(c->compare_set("leader", "", "us").get(20s) == "us");
  CHECK(c->compare_set("leader", "them", "nobody").get(20s) == "us");
  CHECK(c->erase("leader").get(20s));
  c->set("later", std::string(100'000, 'z')).get(20s);
  CHECK(later.get(20s) == std::string(100'000, 'z'));
  c->set("done", "").get(20s);
}

TEST_CASE("PyTorch's client finds in our open server what it expects") {
  if (!has_torch()) return;
  loop l;
  hosted const h(l, guarded().open(true));
  auto const c = connected(l, h.client().secret(secret_of(1)).job("job"));
  script torch("s = store(" + std::to_string(h.port) +
               ", False)\n"
               "s.set('from torch', 'torch says 1')\n"
               "print(s.get('from hocket').decode(), s.add('n', 2), s.add('n', 3), flush=True)\n"
               "print(s.compare_set('c', '', 'x').decode(), s.num_keys(), s.delete_key('n'),\n"
               "      s.delete_key('n'), flush=True)\n"
               "s.wait(['later', 'n'])\n"
               "print('waited', flush=True)\n");
  CHECK(c->get("from torch").get(50s) == "torch says 1");
  c->set("from hocket", "hocket says 2").get(20s);
  CHECK(torch.line() == "hocket says 2 2 5");
  auto const second = torch.line();
  CAPTURE(second);
  CHECK(second.substr(0, 2) == "x ");
  CHECK(second.substr(second.find("True")) == "True False");
  c->set("later", "1").get(20s);
  c->set("n", "1").get(20s);
  CHECK(torch.line() == "waited");
}
