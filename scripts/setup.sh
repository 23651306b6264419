#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# setup.sh sim | all | synth: makes .venv and installs what simulations need (requirements.txt), or all tools
# (requirements-check.txt as well). Quick and silent when there is nothing to do. What a run that was stopped has
# installed stays.
set -euo pipefail
unset CDPATH
cd "$(dirname "${BASH_SOURCE[0]}")/.."
venv=.venv
stamp=$venv/.carillon-setup

fail() {
    echo "setup: $1" >&2
    exit 1
}

case "${1:-all}" in
sim) group=sim files=(requirements.txt) ;;
all) group=all files=(requirements.txt requirements-check.txt) ;;
synth) group=synth files=(requirements.txt requirements-check.txt requirements-synth.txt) ;;
*) fail "$1: choose sim, all or synth" ;;
esac

# Verilator's makefiles and the compiler's command lines split or expand everything else.
folder=$(pwd -P)
case $(LC_ALL=C; echo "${folder//[A-Za-z0-9\/._+,@~-]/}") in
?*) fail "cannot work in '$folder': simulators need a path of letters, digits and . _ - + , @ ~ only" ;;
esac

# Settings of other Pythons, and of pip for places other than .venv.
for name in "${!PYTHON@}"; do
    [ "$name" = PYTHON ] || unset "$name"
done
unset PIP_TARGET PIP_PREFIX PIP_ROOT
export PIP_USER=0 PIP_REQUIRE_VIRTUALENV=0 PIP_NO_INPUT=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# Which interpreter it is: a virtual environment gives the same answer as the Python that it was made from.
identity() {
    "$1" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3], "of", getattr(sys, "base_prefix", sys.prefix))' \
        2>/dev/null
}

suitable() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null
}

if [ -n "${PYTHON:-}" ]; then
    wanted=$(identity "$PYTHON") && [[ $wanted == [0-9]*" of "* ]] || fail "PYTHON=$PYTHON: no Python runs by this name"
    suitable "$PYTHON" || fail "PYTHON=$PYTHON: is Python $wanted; 3.11 or newer is needed"
fi

# A link leads to an environment that checkouts share: who made it installs there.
if [ -L $venv ]; then
    [ -x $venv/bin/python ] || fail "$venv is a link to $(readlink $venv), where no Python is; remove the link"
    [ "${wanted:-}" = "" ] || [ "$wanted" = "$(identity $venv/bin/python)" ] ||
        fail "$venv is a link to an environment of another Python than PYTHON=$PYTHON; remove the link"
    exit 0
fi

commands() {
    local name
    for name in g++ make ccache iverilog; do
        command -v $name >/dev/null || echo $name
    done
}

# The folder is part of it because an environment that was moved no longer works.
key=$(cat "${files[@]}" <(echo "$folder") | sha256sum | cut -d' ' -f1)
done_already() {
    [ "$(cat $stamp.$group 2>/dev/null)" = "$key" ] && [ -x $venv/bin/python ] && [ -z "$(commands)" ] &&
        { [ -z "${wanted:-}" ] || [ "$wanted" = "$(identity $venv/bin/python)" ]; }
}
if done_already; then
    exit 0
fi

# Two makes at once must not install into one environment. Network file systems lock only what is open for writing;
# a script that is open for writing cannot be started.
if command -v flock >/dev/null && { exec 9>>requirements.txt; } 2>/dev/null; then
    flock -n 9 || { echo "setup: waiting for another make that installs"; flock 9; }
    if done_already; then
        exit 0
    fi
fi

find_python() {
    local candidate
    for candidate in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        if suitable "$candidate"; then
            # Not one of a virtual environment: that may be the one to be replaced.
            "$candidate" -c 'import sys; print(sys._base_executable)'
            return
        fi
    done
}

# Prints what this Python lacks: venv, libpython (cocotb loads it into the simulator).
lacking() {
    "$1" - <<'PROBE'
import ctypes
import importlib.util
import pathlib
import sys
import sysconfig

if not all(map(importlib.util.find_spec, ("venv", "ensurepip"))):
    print("venv")
name = sysconfig.get_config_var("INSTSONAME") or ""
library = pathlib.Path(sysconfig.get_config_var("LIBDIR") or "/")
folders = (library, library / (sysconfig.get_config_var("MULTIARCH") or ""), pathlib.Path(sys.base_prefix, "lib"))
if not any((folder / name).is_file() for folder in folders if ".so" in name or ".dylib" in name):
    try:
        ctypes.CDLL(name if ".so" in name else "none.so")
    except OSError:
        print("libpython")
PROBE
}

# Prints the Debian package of everything that is missing, so that one command installs all of it.
missing() {
    commands
    # FST waves are compressed with both.
    g++ -E -x c++ - <<<'#include <zlib.h>' >/dev/null 2>&1 || echo zlib1g-dev
    g++ -E -x c++ - <<<'#include <lz4.h>' >/dev/null 2>&1 || echo liblz4-dev
    local python what
    python=$(find_python)
    if [ -z "$python" ]; then
        echo python3 python3-venv libpython3-dev
        return
    fi
    for what in $(lacking "$python"); do
        case $what in
        venv) echo "python$(version "$python")-venv" ;;
        libpython) echo "libpython$(version "$python")" ;;
        esac
    done
}

version() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])'
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

python=$(find_python)
if [ -z "$python" ] && command -v python3 >/dev/null; then
    fail "python3 is Python $(identity python3); install 3.11 or newer, or name one: make setup PYTHON=/path/to/python3"
fi
# Only Debian's own interpreters get what they lack from Debian packages.
if [ -n "$python" ] && [[ $(identity "$python") != *" of /usr" ]]; then
    case $(lacking "$python") in
    *venv*) fail "$python has no venv module; name another Python: make setup PYTHON=/path/to/python3" ;;
    *libpython*) fail "$python has no shared libpython; use a Python built with --enable-shared" ;;
    esac
fi
# shellcheck disable=SC2046  # one word per package is what is wanted
install_packages $(missing)
python=$(find_python)
[ -n "$python" ] || fail "no Python 3.11 or newer found; install one, or name it: make setup PYTHON=/path/to/python3"

# Without PYTHON, any interpreter that .venv was made from will do.
has=$(identity $venv/bin/python || true)
if [ -z "$has" ] || { [ -n "${wanted:-}" ] && [ "$wanted" != "$has" ]; } ||
    [ "$(cat $stamp.python 2>/dev/null)" != "$(version $venv/bin/python) $folder" ]; then
    echo "setup: making $venv with Python $(identity "$python")"
    rm -rf $venv
    "$python" -m venv $venv || fail "$python -m venv failed (its message is above)"
    echo "$(version $venv/bin/python) $folder" >$stamp.python
fi
# A run that is stopped while it replaces packages must not look finished.
rm -f $stamp.sim $stamp.all $stamp.synth
echo "setup: installing the Python packages of ${files[-1]}"
$venv/bin/python -m pip install -q -r "${files[-1]}" ||
    fail "pip could not install them (its message is above); check the network and run make again: what is there stays"

echo "$key" >$stamp.$group
# A larger group includes the smaller ones.
if [ $group != sim ]; then
    echo "$(cat requirements.txt <(echo "$folder") | sha256sum | cut -d' ' -f1)" >$stamp.sim
fi
if [ $group = synth ]; then
    echo "$(cat requirements.txt requirements-check.txt <(echo "$folder") | sha256sum | cut -d' ' -f1)" >$stamp.all
fi
echo "setup: done"
