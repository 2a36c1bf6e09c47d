// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
// hocket run as a user starts it: variables, output, input, failures.
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <sstream>

#include "run_job.hpp"

using namespace hocket::test;

namespace {

std::multiset<std::string> lines_of(std::string const& text) {
  std::multiset<std::string> all;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) all.insert(line);
  return all;
}

bool has(std::string const& text, std::string const& part) {
  CAPTURE(text);
  CAPTURE(part);
  auto const found = text.find(part) != std::string::npos;
  CHECK(found);
  return found;
}

// 0, or errno of listening on a port of the loopback.
int listening(int port, bool reuse) {
  int const fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  int const on = reuse ? 1 : 0;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  bool const done = ::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                    ::listen(fd, 8) == 0;
  int const code = done ? 0 : errno;
  ::close(fd);
  return code;
}

}  // namespace

TEST_CASE("each rank is told its place, and all the same port and job") {
  auto const told = run_ranks(
      "-n 3 -- sh -c 'echo $RANK $LOCAL_RANK $ROLE_RANK $WORLD_SIZE $LOCAL_WORLD_SIZE $GROUP_RANK "
      "$MASTER_ADDR'");
  CHECK(told.status == 0);
  CHECK(lines_of(told.output) == std::multiset<std::string>{"0 0 0 3 3 0 127.0.0.1",
                                                            "1 1 1 3 3 0 127.0.0.1",
                                                            "2 2 2 3 3 0 127.0.0.1"});
  std::string const job = "-n 4 -- sh -c 'echo $MASTER_PORT $HOCKET_JOB_ID'";
  auto const one = lines_of(run_ranks(job).output);
  auto const other = lines_of(run_ranks(job).output);
  CHECK(one.size() == 4);
  CHECK(one.count(*one.begin()) == 4);
  CHECK(one.begin()->find(' ') >= 4);
  CHECK(one.begin()->size() == one.begin()->find(' ') + 1 + 32);
  CHECK(*one.begin() != *other.begin());
}

TEST_CASE("jobs that start at once have different ports, each kept while its job lives") {
  auto const ports =
      lines_of(run_program("for i in 1 2 3 4 5 6 7 8; do timeout 60 '" HOCKET_TOOL
                           "' run -n 2 -- sh -c 'echo $MASTER_PORT; sleep 0.5' & done; wait")
                   .output);
  CHECK(ports.size() == 16);
  CHECK(std::ranges::all_of(ports, [&](auto const& port) { return ports.count(port) == 2; }));

  job running(1, "echo $MASTER_PORT; exec sleep 100");
  auto const port = std::stoi(running.line());
  CHECK(listening(port, false) == EADDRINUSE);
  CHECK(listening(port, true) == EADDRINUSE);
  running.signal(SIGTERM);
  CHECK(running.status() == 143);
}

TEST_CASE("lines are labelled only on request, on both streams") {
  CHECK(lines_of(run_ranks("-n 2 -- sh -c 'echo out$RANK'").output) ==
        std::multiset<std::string>{"out0", "out1"});
  CHECK(
      lines_of(run_ranks("-n 2 --label -- sh -c 'echo out$RANK; echo err$RANK >&2' 2>&1").output) ==
      std::multiset<std::string>{"[0] out0", "[1] out1", "[0] err0", "[1] err1"});
  CHECK(run_ranks("-n 2 -- sh -c 'echo err >&2' 2>/dev/null").output.empty());
}

TEST_CASE("lines of 64 ranks do not mix, and each rank's stay in order") {
  auto const result = run_ranks(
      "-n 64 -- sh -c 'i=0; while [ $i -lt 30 ]; do printf \"%s \" $RANK; printf \"%s\" \"a b c d "
      "\"; printf \"%s\\n\" $i; i=$((i+1)); done'");
  CHECK(result.status == 0);
  std::vector<int> next(64);
  std::istringstream stream(result.output);
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line); ++count) {
    std::istringstream words(line);
    std::size_t rank = 0;
    std::string a, b, c, d;
    int i = -1;
    words >> rank >> a >> b >> c >> d >> i;
    REQUIRE(rank < 64);
    REQUIRE(line == std::to_string(rank) + " a b c d " + std::to_string(next[rank]++));
  }
  CHECK(count == 64 * 30);
}

TEST_CASE("bytes pass unchanged: no newline at the end, zeros, 10 MB in one line") {
  CHECK(run_ranks("-n 1 -- printf 'a\\0b\\nc'").output == std::string("a\0b\nc", 5));
  auto const sum = [](std::string const& source) {
    return run_program(source + " | cksum").output;
  };
  CHECK(sum("'" HOCKET_TOOL "' run -n 1 -- head -c 10000000 /dev/zero") ==
        sum("head -c 10000000 /dev/zero"));
  auto const both = run_ranks(
      "-n 2 -- sh -c 'if [ $RANK = 0 ]; then head -c 10000000 /dev/zero | tr \"\\0\" x; echo; else "
      "i=0; while [ $i -lt 500 ]; do echo line; i=$((i+1)); done; fi'");
  CHECK(both.output.size() == 10'000'001 + 500 * 5);
  CHECK(lines_of(both.output).count("line") == 500);
}

TEST_CASE("a long line whose rank waits for another does not stop the other") {
  auto const result = run_ranks(
      "-n 2 -- sh -c 'if [ $RANK = 0 ]; then head -c 100000 /dev/zero | tr \"\\0\" x; sleep 3; "
      "else "
      "head -c 300000 /dev/zero | tr \"\\0\" \"\\n\"; echo done >&2; fi' 2>&1");
  CHECK(result.status == 0);
  CHECK(std::ranges::count(result.output, 'x') == 100'000);
  has(result.output, "done\n");
}

TEST_CASE("rank 0 reads the launcher's input, the others nothing") {
  auto const line = "printf 'one\\ntwo\\n' | '" HOCKET_TOOL "' run -n 3 --label -- cat";
  CHECK(run_program(line).output == "[0] one\n[0] two\n");
}

TEST_CASE("a rank may close its output early, and the reader of the job may leave") {
  auto const closed = run_ranks(
      "-n 2 -- sh -c 'echo $RANK; if [ $RANK = 0 ]; then exec >&- 2>&-; sleep 0.3; fi; exit 0'");
  CHECK(closed.status == 0);
  CHECK(lines_of(closed.output) == std::multiset<std::string>{"0", "1"});
  auto const left = run_program("{ timeout 30 '" HOCKET_TOOL
                                "' run -n 2 -- yes; echo $? >&3; } 3>&1 2>/dev/null | head -1");
  CHECK((left.output == "y\n141\n" || left.output == "y\n"));
}

TEST_CASE("output that cannot be written ends the job and is what is blamed") {
  std::string const chatty = "-n 2 -- sh -c 'while :; do echo line; sleep 0.01; done'";
  std::string const story = "hocket: the output of the ranks cannot be written: ";
  auto const full = run_ranks(chatty + " 2>&1 >/dev/full");
  CHECK(full.status == 2);
  CHECK(full.output == story + "No space left on device\n");
  auto const closed = run_ranks(chatty + " 2>&1 >&-");
  CHECK(closed.status == 2);
  CHECK(closed.output == story + "Bad file descriptor\n");
  CHECK(run_ranks("-n 2 -- sh -c 'echo why >&2' 2>/dev/full").status == 2);
  CHECK(run_ranks("-n 2 -- echo late 2>&1 >/dev/full").output ==
        story + "No space left on device\n");
  CHECK(run_ranks("-n 2 -- true >&- 2>&- <&-").status == 0);
  CHECK(run_ranks("-n 1 -- sh -c 'exit 3' 2>/dev/full").status == 3);
}

TEST_CASE("a program that does not stand behind -- is shown where it belongs") {
  CHECK(run_ranks("-n 2 true 2>&1").output ==
        "hocket: the program stands behind --, as in: hocket run -n 2 -- true\n");
  CHECK(run_ranks("--label -n 2 ./prog --steps 'a b' 2>&1").output ==
        "hocket: the program stands behind --, as in: hocket run --label -n 2 -- ./prog --steps 'a "
        "b'\n");
  CHECK(run_ranks("-n 2 env -- true 2>&1").status == 2);
}

TEST_CASE("the status is that of the first rank that failed, and it is named with its last lines") {
  auto const failed = run_ranks(
      "-n 4 -- sh -c 'if [ $RANK = 2 ]; then echo why >&2; exit 7; fi; exec sleep 50' 2>&1");
  CHECK(failed.status == 7);
  has(failed.output, "why\nhocket: rank 2 of 4 exited with status 7 (process ");
  has(failed.output, "): sh -c 'if [ $RANK");
  has(failed.output, "hocket: the last lines of its stderr:\n  why\n");

  auto const crashed =
      run_ranks("-n 3 -- sh -c 'if [ $RANK = 1 ]; then kill -SEGV $$; fi; exec sleep 50' 2>&1");
  CHECK(crashed.status == 139);
  has(crashed.output, "hocket: rank 1 of 3 was ended by signal 11 (SIGSEGV");
  has(crashed.output, "hocket: it wrote nothing to stderr\n");
}

TEST_CASE("a rank and its helpers that ignore SIGTERM are killed after two seconds") {
  auto const begin = std::chrono::steady_clock::now();
  auto const result = run_ranks(
      "-n 2 -- sh -c 'trap \"\" TERM; if [ $RANK = 0 ]; then echo up; (sleep 47; sleep 48) & while "
      ":; do sleep 49; done; else sleep 0.5; exit 3; fi' 2>/dev/null");
  CHECK(result.status == 3);
  CHECK(result.output == "up\n");
  CHECK(std::chrono::steady_clock::now() - begin >= 2s);
}

TEST_CASE("a program that does not exist or may not run is named, and no rank has run") {
  auto const missing = run_ranks("-n 3 -- ./no-such-program 2>&1");
  CHECK(missing.status == 127);
  CHECK(missing.output ==
        "hocket: \"./no-such-program\" cannot be started: No such file or directory\n");
  auto const refused = run_ranks("-n 3 -- /dev/null 2>&1");
  CHECK(refused.status == 126);
  CHECK(refused.output == "hocket: \"/dev/null\" cannot be started: Permission denied\n");
}

TEST_CASE("bad usage is one JSON document and exit status 2") {
  for (auto const* args :
       {"-n 0 -- true", "-n -1 -- true", "-n 5000 -- true", "-n two -- true", "-n 2", "-n 2 --",
        "-- true", "-n 2 true", "-n 2 -n 3 -- true", "--nnodes 2 -n 2 -- true",
        "--rdzv h:1 -n 1 -- true", "-x -- true", "-n 1 --grace -1 -- true",
        "-n 1 --grace 86401 -- true", "-n 1 --grace soon -- true", "-n '' -- true",
        "-n 99999999999999999999 -- true"}) {
    CAPTURE(args);
    auto const plain = run_ranks(std::string(args) + " 2>/dev/null");
    CHECK(plain.status == 2);
    CHECK(plain.output.empty());
    auto const document = run_ranks(std::string("--json ") + args + " 2>/dev/null");
    CHECK(document.status == 2);
    CHECK(document.output.starts_with(R"({"error":{"code":"invalid_argument","message":")"));
  }
  CHECK(run_ranks("-n 0 -- true 2>&1").output == "hocket: -n 0 is not in 1..4096\n");
  CHECK(run_ranks("-n 1 -- echo --json --help").output == "--json --help\n");
}

TEST_CASE("too few descriptors for so many ranks are an error with the numbers") {
  auto const result = run_program("ulimit -n 100; '" HOCKET_TOOL "' run -n 50 -- true 2>&1");
  CHECK(result.status == 2);
  has(result.output, "need 264 open descriptors, the hard limit is 100");
  CHECK(run_program("ulimit -Sn 64; '" HOCKET_TOOL "' run -n 50 -- sh -c 'ulimit -n' | uniq -c")
            .output == "     50 64\n");
}

TEST_CASE("a rank inherits no descriptor that the launcher opened, but that of the secret") {
  std::string const list = "sh -c 'echo $(ls /proc/self/fd | grep -vx \"${HOCKET_SECRET_FD:-x}\")'";
  CHECK(run_ranks("-n 2 -- " + list + " | sort -u").output == run_program(list + " | cat").output);
  CHECK(run_ranks("-n 1 -- sh -c 'readlink /proc/self/fd/$HOCKET_SECRET_FD'").output ==
        "/memfd:hocket secret (deleted)\n");
}

TEST_CASE("what stands as the example in the help is what happens") {
  auto const help = run_ranks("--help").output;
  has(help, "$ hocket run -n 2 --label -- sh -c 'echo rank $RANK of $WORLD_SIZE'");
  CHECK(lines_of(run_ranks("-n 2 --label -- sh -c 'echo rank $RANK of $WORLD_SIZE'").output) ==
        std::multiset<std::string>{"[0] rank 0 of 2", "[1] rank 1 of 2"});
}
