# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# Sourced by tests/run.sh and examples/demo.sh: configuring and building a preset.

# Jobs for a compiler that takes MIB each: all cores, unless memory is short.
build_jobs() {
  local mib=$1 cores memory jobs
  cores=$(nproc)
  memory=$(awk '/^MemAvailable:/ { print int($2 / 1024) }' /proc/meminfo)
  jobs=$((memory / mib))
  if [ "$jobs" -gt "$cores" ]; then jobs=$cores; fi
  if [ "$jobs" -lt 1 ]; then jobs=1; fi
  echo "$jobs"
}

build_has_target() { # PRESET TARGET
  cmake --build "build/$1" --target help | grep -q "^$2: "
}

# build_preset PRESET [TARGET...]: after `cmake --preset PRESET`; run in the root.
build_preset() {
  local preset=$1 mib=900
  shift
  case $preset in asan | tsan) mib=1500 ;; esac
  local -a targets=()
  if [ $# -gt 0 ]; then targets=(--target "$@"); fi
  # With ccache set up by the user, these let it cache what uses a precompiled header.
  CCACHE_SLOPPINESS=${CCACHE_SLOPPINESS:-pch_defines,time_macros} \
    cmake --build "build/$preset" --parallel "$(build_jobs "$mib")" "${targets[@]}" >&2
}
