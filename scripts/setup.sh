#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Makes .venv and installs what test, sim, lint and waves need. Quick and silent when there is nothing to do.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=.venv
stamp=$venv/.carillon-setup

fail() {
    echo "setup: $1" >&2
    exit 1
}

# Two makes at once must not install into one environment.
if command -v flock >/dev/null; then
    exec 9<"scripts/setup.sh"
    flock 9
fi

# Prints the Debian package of each missing command or header.
missing() {
    command -v g++ >/dev/null || echo g++
    command -v make >/dev/null || echo make
    command -v ccache >/dev/null || echo ccache
    command -v iverilog >/dev/null || echo iverilog
    # FST waves are compressed with both.
    [ -e /usr/include/zlib.h ] || echo zlib1g-dev
    [ -e /usr/include/lz4.h ] || echo liblz4-dev
}

install_packages() {
    [ $# -gt 0 ] || return 0
    if ! command -v apt-get >/dev/null; then
        fail "missing: $*. These are Debian package names; install them with your system's package manager."
    fi
    if [ "$(id -u)" -ne 0 ]; then
        fail "missing Debian packages. Run: sudo apt-get update && sudo apt-get install -y --no-install-recommends $*"
    fi
    echo "setup: installing Debian packages: $*"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq >/dev/null || fail "apt-get update failed; check the network and /etc/apt/sources.list"
    local log
    log=$(mktemp)
    if ! apt-get install -y -qq --no-install-recommends "$@" >"$log" 2>&1; then
        cat "$log" >&2
        rm -f "$log"
        fail "apt-get install $* failed (its message is above)"
    fi
    rm -f "$log"
}

find_python() {
    local candidate
    for candidate in ${PYTHON:-} python3 python3.13 python3.12 python3.11; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

# shellcheck disable=SC2046  # one word per package is what is wanted
install_packages $(missing)

# The folder is part of the key because an environment that was moved no longer works.
key=$(sha256sum requirements.txt scripts/setup.sh <(pwd) | cut -d' ' -f1 | sha256sum | cut -d' ' -f1)
if [ -x $venv/bin/python ] && [ "$(cat $stamp 2>/dev/null)" = "$key" ]; then
    exit 0
fi

python=$(find_python)
if [ -z "$python" ]; then
    # shellcheck disable=SC2046
    [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null && install_packages python3 python3-venv
    python=$(find_python)
    [ -n "$python" ] || fail "no Python 3.11 or newer found; install one, or name it: make setup PYTHON=/path/to/python3"
fi
version=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
if ! "$python" -c 'import venv, ensurepip' 2>/dev/null; then
    echo "setup: $python has no working venv module"
    install_packages "python$version-venv"
fi

if [ "$(cat $stamp.python 2>/dev/null)" != "$version $PWD" ]; then
    echo "setup: making $venv with Python $version"
    rm -rf $venv
    "$python" -m venv $venv || fail "$python -m venv failed (its message is above)"
fi
echo "setup: installing the Python packages of requirements.txt"
$venv/bin/python -m pip install -q --disable-pip-version-check -r requirements.txt ||
    fail "pip could not install requirements.txt (its message is above); check the network, then 'make distclean setup'"

# cocotb loads libpython into the simulator; Debian keeps it in a package of its own.
$venv/bin/python -c 'import find_libpython, sys; sys.exit(not find_libpython.find_libpython())' ||
    install_packages "libpython$version"
$venv/bin/python -c 'import find_libpython, sys; sys.exit(not find_libpython.find_libpython())' ||
    fail "no shared libpython for $python; use a Python built with --enable-shared"

echo "$version $PWD" >$stamp.python
echo "$key" >$stamp
echo "setup: done"
