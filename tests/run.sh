#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
set -u
cd "$(dirname "$0")/.." || exit 2
. .ci/packages.sh
. .ci/build.sh

usage() {
  cat <<'END'
tests/run.sh [option...]: installs what is missing, builds, runs the tests.
The last line is "N passed, N failed"; the exit status is 0 if none failed.

  (nothing)      release build with g++, the fast tier
  --asan --tsan  in addition: that sanitizer
  --clang        in addition: clang 19 (installs it)
  --long         the long tests too
  --only         only what the options name, without the release build
  --label L      only the tests of label L (builds only them); --core is --label core
  --filter RE    only the tests whose name matches
  --yes          install packages without asking
END
}

presets=(release)
label="" filter="" long=0 yes=0
while [ $# -gt 0 ]; do
  case $1 in
    --asan | --tsan | --clang) presets+=("${1#--}") ;;
    --only) unset 'presets[0]' ;;
    --long) long=1 ;;
    --core) label=core ;;
    --label) label=${2:?--label needs a name}; shift ;;
    --filter) filter=${2:?--filter needs an expression}; shift ;;
    --yes | -y) yes=1 ;;
    --help | -h) usage; exit 0 ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done

passed=0 failed=0
finish() {
  echo "$passed passed, $failed failed"
  if [ "$failed" -gt 0 ]; then exit 1; fi
  exit 0
}
fail() {
  echo "hocket: $*" >&2
  failed=$((failed + 1))
}

# Builds and tests one preset, adds to the totals.
run_preset() {
  local preset=$1 results="$PWD/build/$1/results.xml"
  local -a targets=() select=()
  if [ -n "$label" ]; then select+=(-L "^$label\$"); fi
  if [ -n "$filter" ]; then select+=(-R "$filter"); fi
  if [ "$long" = 0 ]; then select+=(-LE '^long$'); fi
  echo "hocket: $preset: building" >&2
  local begin=$SECONDS
  if ! cmake --preset "$preset" >&2; then
    fail "$preset: the configuration failed"
    return
  fi
  if build_has_target "$preset" "tests_$label"; then targets=("tests_$label"); fi
  if ! build_preset "$preset" "${targets[@]}"; then
    fail "$preset: the build failed"
    return
  fi
  echo "hocket: $preset: built in $((SECONDS - begin)) s, testing" >&2
  begin=$SECONDS
  rm -f "$results"
  HOCKET_TEST_LONG=$long ctest --test-dir "build/$preset" --output-on-failure --no-tests=error \
    --parallel "$(nproc)" --output-junit "$results" --test-output-size-passed 1048576 \
    --test-output-size-failed 4194304 "${select[@]}" >&2
  local status=$? ok bad skipped
  read -r ok bad skipped < <(awk -f .ci/count.awk "$results" 2>/dev/null)
  if [ "$status" -ne 0 ] && [ "${bad:-0}" -eq 0 ]; then bad=1; fi
  echo "hocket: $preset: ${ok:-0} passed, ${bad:-0} failed, ${skipped:-0} skipped" \
    "in $((SECONDS - begin)) s" >&2
  passed=$((passed + ${ok:-0}))
  failed=$((failed + ${bad:-0}))
}

groups=(base)
case " ${presets[*]} " in *" clang "*) groups+=(clang) ;; esac
if ! packages_install "$yes" "${groups[@]}"; then
  fail "cannot go on without the packages above"
  finish
fi
for preset in "${presets[@]}"; do run_preset "$preset"; done
finish
