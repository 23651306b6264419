#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# A Slurm of one node on this machine, to try CLUSTER='srun -n1 -c1' without a cluster.
#
#   scripts/slurm_local.sh start [FOLDER]    start munged, slurmctld and slurmd; wait until the node is idle
#   scripts/slurm_local.sh status [FOLDER]   say what runs; exit status 0 if all of it does, else 3
#   scripts/slurm_local.sh stop [FOLDER]     cancel all jobs, end all three and what they have started
#
# FOLDER (default: sim_build/slurm) gets everything: configuration, key, state, spool, sockets, process IDs, logs.
# Each start makes a new key. Both start and stop may be repeated. Commands of Slurm find this one by a variable:
#
#   export SLURM_CONF=$PWD/sim_build/slurm/slurm.conf
#   make sim CLUSTER='srun -n1 -c1' JOBS=2
#
# Variables: CPUS, the CPUs that the node declares (default 16, however many there are: more than workers, for a
# worker that has died is replaced before its slot is free); PORT, its first TCP port of two (default 6817).
#
# Needs root, for the node's daemon starts processes for other users, and Debian's packages:
#   apt-get install slurm-wlm munge
# Every error is one line, with exit status 2.

set -u
PATH=$PATH:/usr/sbin:/sbin
ROOT=$(cd "$(dirname "$0")/.." && pwd)
CPUS=${CPUS:-16}
PORT=${PORT:-6817}
DAEMONS='munged slurmctld slurmd'

fail() {
    printf 'slurm_local: %s\n' "$*" >&2
    exit 2
}

# The daemon's process ID if it is this folder's: a number in a file may be that of another process by now.
pid_of() {
    local pid
    pid=$(cat "$FOLDER/run/$1.pid" 2>/dev/null) || return 1
    [ -n "$pid" ] && [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ] || return 1
    grep -qzxF "SLURM_CONF=$SLURM_CONF" "/proc/$pid/environ" 2>/dev/null || return 1
    printf '%s' "$pid"
}

# Waits up to $1 seconds for a command to succeed.
await() {
    local end=$((SECONDS + $1))
    shift
    until "$@"; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}

idle() { [ "$(timeout 5 sinfo -h -o %T 2>/dev/null)" = idle ]; }
answers() { [ -S "$FOLDER/run/munge.socket" ] && munge -n -S "$FOLDER/run/munge.socket" >/dev/null 2>&1; }
no_jobs() { [ -z "$(timeout 5 squeue -h 2>/dev/null)" ]; }
gone() { ! kill -0 "$1" 2>/dev/null; }

running() {
    local name
    for name in $DAEMONS; do pid_of "$name" >/dev/null || return 1; done
}

check() {
    local name path
    [ "$(id -u)" = 0 ] || fail 'must be root: the daemon of a node starts processes for other users'
    for name in $DAEMONS srun scancel munge; do
        command -v "$name" >/dev/null || fail "no $name: apt-get install slurm-wlm munge"
    done
    for name in CPUS PORT; do
        case ${!name} in '' | *[!0-9]* | ??????*) fail "$name=${!name}: must be a whole number" ;; esac
    done
    [ "$CPUS" -ge 1 ] || fail "CPUS=$CPUS: must be at least 1"
    [ "$PORT" -ge 1024 ] && [ "$PORT" -le 65534 ] || fail "PORT=$PORT: must be from 1024 to 65534"
    # A path of a socket has at most 107 bytes, and Slurm's files have no way to quote a space.
    path=$FOLDER/run/munge.socket
    [ ${#path} -le 100 ] || fail "$FOLDER: too long for the path of a socket; name another folder"
    case $FOLDER in *[!A-Za-z0-9._/+,@~-]*) fail "$FOLDER: only letters, digits and . _ - + , @ ~ / please" ;; esac
}

configure() {
    mkdir -p "$FOLDER"/{run,state,spool,log} || exit 2
    chmod 755 "$FOLDER" "$FOLDER"/{run,state,spool,log}
    local host
    host=$(hostname -s)
    (umask 077 && head -c 1024 /dev/urandom >"$FOLDER/munge.key")
    cat >"$SLURM_CONF" <<END
ClusterName=local
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$PORT
SlurmdPort=$((PORT + 1))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$FOLDER/run/munge.socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
SlurmdParameters=config_overrides
ReturnToService=2
KillWait=2
# An allocation whose srun has died is given back.
InactiveLimit=60
StateSaveLocation=$FOLDER/state
SlurmdSpoolDir=$FOLDER/spool
SlurmctldPidFile=$FOLDER/run/slurmctld.pid
SlurmdPidFile=$FOLDER/run/slurmd.pid
SlurmctldLogFile=$FOLDER/log/slurmctld.log
SlurmdLogFile=$FOLDER/log/slurmd.log
NodeName=$host NodeAddr=127.0.0.1 CPUs=$CPUS State=UNKNOWN
PartitionName=local Nodes=$host Default=YES MaxTime=INFINITE State=UP
END
}

start() {
    check
    if running && idle_or_busy; then
        echo "slurm_local: runs already; export SLURM_CONF=$SLURM_CONF"
        return
    fi
    end_all
    local port
    for port in "$PORT" $((PORT + 1)); do
        if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
            fail "port $port is in use: set PORT to the first of two that are free"
        fi
    done
    # State of an earlier cluster would hold its jobs.
    rm -rf "$FOLDER"/{run,state,spool,log}
    configure
    # As root it objects to folders of others above its own; --force makes that a warning.
    munged --force --socket="$FOLDER/run/munge.socket" --key-file="$FOLDER/munge.key" \
        --pid-file="$FOLDER/run/munged.pid" --log-file="$FOLDER/log/munged.log" \
        --seed-file="$FOLDER/run/munge.seed" >"$FOLDER/log/munged.out" 2>&1
    await 10 answers || give_up munged "$FOLDER/log/munged.out"
    slurmctld -f "$SLURM_CONF" >"$FOLDER/log/slurmctld.out" 2>&1 || give_up slurmctld "$FOLDER/log/slurmctld.out"
    slurmd -f "$SLURM_CONF" >"$FOLDER/log/slurmd.out" 2>&1 || give_up slurmd "$FOLDER/log/slurmd.out"
    await 30 idle || give_up slurmd "$FOLDER/log/slurmd.log"
    echo "slurm_local: started, $CPUS CPUs; export SLURM_CONF=$SLURM_CONF"
}

idle_or_busy() { timeout 5 sinfo -h -o %T 2>/dev/null | grep -qxE 'idle|mixed|allocated'; }

# Ends what runs, and says which daemon did not start and what it said last.
give_up() {
    local said
    said=$(grep -iE 'error|fatal' "$2" 2>/dev/null | tail -n 1)
    end_all
    fail "$1 did not start: ${said:-it gave no reason}; logs in $FOLDER/log"
}

# Processes that jobs of this cluster have left: each has its configuration and a job in its environment.
leftovers() {
    local file place
    grep -lzxF "SLURM_CONF=$SLURM_CONF" /proc/[0-9]*/environ 2>/dev/null | while read -r file; do
        place=${file%/environ}
        case $(cat "$place/comm" 2>/dev/null) in
        slurmstepd | munged | slurmctld | slurmscriptd | slurmd) echo "${place#/proc/}" ;;
        *) grep -qz '^SLURM_JOB_ID=' "$file" 2>/dev/null && echo "${place#/proc/}" ;;
        esac
    done
}

end_all() {
    local name pid left
    if pid_of slurmctld >/dev/null && pid_of munged >/dev/null; then
        timeout 5 squeue -h -o %A 2>/dev/null | xargs -r timeout 5 scancel 2>/dev/null
        await 3 no_jobs
    fi
    for name in slurmd slurmctld munged; do
        pid=$(pid_of "$name") || continue
        kill "$pid" 2>/dev/null
        # Its state is of no use to the next start, and saving it takes long.
        await 2 gone "$pid" || kill -9 "$pid" 2>/dev/null
    done
    for left in 1 2 3; do
        pid=$(leftovers)
        [ -n "$pid" ] || break
        # shellcheck disable=SC2086
        kill -9 $pid 2>/dev/null
        sleep 0.2
    done
    rm -f "$FOLDER"/run/*.pid "$FOLDER/run/munge.socket"
}

stop() {
    check
    end_all
    [ -z "$(leftovers)" ] || fail "could not end process $(leftovers | tr '\n' ' ')"
    echo 'slurm_local: stopped'
}

status() {
    local name pid all=0
    for name in $DAEMONS; do
        if pid=$(pid_of "$name"); then
            echo "$name: runs, process $pid"
        else
            echo "$name: does not run"
            all=3
        fi
    done
    [ $all = 0 ] && timeout 10 sinfo -o 'node %n: %T, %C CPUs (allocated/idle/other/total)' -h
    return $all
}

[ $# -ge 1 ] && [ $# -le 2 ] || fail 'usage: scripts/slurm_local.sh start|stop|status [FOLDER]'
FOLDER=$(realpath -m -- "${2:-$ROOT/sim_build/slurm}")
export SLURM_CONF=$FOLDER/slurm.conf
case $1 in
start | stop | status) "$1" ;;
*) fail "$1: choose start, stop or status" ;;
esac
