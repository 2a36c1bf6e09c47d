# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# Reads ctest's JUnit file, prints "PASSED FAILED SKIPPED". A doctest program counts as its cases,
# any other test as one; a program that fails without a failed case (a crash, a sanitizer, its
# time) counts as one failure more.
/<testcase / {
  status = "run"
  if (match($0, /status="[a-z]+"/)) status = substr($0, RSTART + 8, RLENGTH - 9)
  cases = ok = bad = 0
}
/\[doctest\] test cases:/ {
  line = $0
  sub(/.*\[doctest\] test cases:/, "", line)
  split(line, field, "|")
  cases += field[1] + 0
  ok += field[2] + 0
  bad += field[3] + 0
}
/<\/testcase>/ {
  if (status == "disabled" || status == "notrun" && skipped_by_choice) {
    skipped += 1
  } else if (status == "run") {
    passed += cases ? ok : 1
    failed += bad
  } else {
    passed += ok
    failed += bad ? bad : 1
  }
  skipped_by_choice = 0
}
/<skipped message="(SKIP_|Disabled)/ { skipped_by_choice = 1 }
END { printf "%d %d %d\n", passed, failed, skipped }
