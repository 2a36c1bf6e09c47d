#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
set -u
from=$PWD
cd "$(dirname "$0")/.." || exit 2
. .ci/packages.sh
. .ci/build.sh

usage() {
  cat <<'END'
examples/demo.sh [--yes] [--cp N] [--pp N] [FILE]
Installs what is missing (asks first, unless --yes or not on a terminal), builds, and computes
sentence embeddings of FILE, one sentence a line, on N x N ranks: first inside one process, then
each rank a process of its own, and compares what both print. The model is all-MiniLM-L6-v2; where
it cannot be fetched a tiny model with random weights takes its place.
END
}

yes=0 cp=2 pp=2 file=examples/embed/demo.txt
while [ $# -gt 0 ]; do
  case $1 in
    --yes | -y) yes=1 ;;
    --cp) cp=${2:?--cp needs a number}; shift ;;
    --pp) pp=${2:?--pp needs a number}; shift ;;
    --help | -h) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
    /*) file=$1 ;;
    *) file=$from/$1 ;;
  esac
  shift
done

if [ ! -r "$file" ]; then echo "hocket: cannot read $file" >&2; exit 2; fi

say() { printf 'hocket: %s\n' "$*" >&2; }
stop() { say "$*"; exit 1; }

# Sets `model` to the options that choose the model: the real one if it is there or can be fetched,
# else a tiny one.
choose_model() {
  local real=${XDG_CACHE_HOME:-${HOME:-build}/.cache}/hocket/all-MiniLM-L6-v2
  if timeout 45 examples/embed/get_model.sh "$real" </dev/null >&2; then
    model=(--model "$real")
    return
  fi
  say "the real model could not be fetched in 45 s: running a tiny model instead. Its weights are"
  say "random, so the vectors mean nothing, but every byte goes the same way. With a network:"
  say "  examples/embed/get_model.sh $real && examples/demo.sh"
  model=(--tiny)
}

packages_install "$yes" base || stop "the packages above are needed"
say "building (release)"
cmake --preset release >&2 || stop "the configuration failed"
build_preset release bin/hocket-embed bin/hocket || stop "the build failed"
program=build/release/bin/hocket-embed

begin=$SECONDS
choose_model
alone=$(mktemp) || stop "no temporary file"
apart=$(mktemp) || stop "no temporary file"
trap 'rm -f "$alone" "$apart"' EXIT
args=("${model[@]}" --cp "$cp" --pp "$pp" --neighbours "$file")
say "$((cp * pp)) ranks in one process: $program ${args[*]}"
"$program" "${args[@]}" >"$alone" || stop "the run failed"
say "$((cp * pp)) processes: build/release/bin/hocket run -n $((cp * pp)) -- $program ${args[*]}"
build/release/bin/hocket run -n $((cp * pp)) -- "$program" "${args[@]}" >"$apart" ||
  stop "the run on processes failed"
cat "$apart"
cmp -s "$alone" "$apart" || stop "the processes found other neighbours than the one process did"
say "done, $((SECONDS - begin)) s after the build; both found the same"
