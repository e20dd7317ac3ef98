#!/usr/bin/env bash
# docs/scale/networks.sh RATE RANKS PROGRAM [ARGUMENTS] - ranks of MPICH on this machine, each in a network of its own,
# joined by a switch that limits each to RATE (100mbit, 1gbit, in the notation of tc). Needs root. The table of networks in
# docs/scale.md was measured with:
#
#   docs/scale/networks.sh 300mbit 2 build/bench/bench_ring_mpich time 16384 7
set -euo pipefail
if (($# < 3)); then
  echo "usage: docs/scale/networks.sh RATE RANKS PROGRAM [ARGUMENTS]" >&2
  exit 2
fi
rate=$1 ranks=$2
shift 2

remove() {
  for ((rank = 0; rank < ranks; ++rank)); do
    ip netns del "ring$rank" || true
    ip link del "ring$rank" || true
  done 2>/dev/null
  ip link del ring 2>/dev/null || true
}
trap remove EXIT
remove
ip link add ring type bridge
ip link set ring up
command=()
for ((rank = 0; rank < ranks; ++rank)); do
  ip netns add "ring$rank"
  ip link add "ring$rank" type veth peer name net netns "ring$rank"
  ip link set "ring$rank" master ring up
  ip -n "ring$rank" addr add "10.99.0.$((rank + 1))/24" dev net
  ip -n "ring$rank" link set net up
  ip -n "ring$rank" link set lo up
  tc -n "ring$rank" qdisc add dev net root tbf rate "$rate" burst 256kb latency 20ms
  ((rank == 0)) || command+=(:)
  command+=(-n 1 ip netns exec "ring$rank" "$@")
done
# TCP only, although the ranks could share memory.
export UCX_TLS=tcp,self UCX_NET_DEVICES=net MPIR_CVAR_NOLOCAL=1
mpirun.mpich "${command[@]}"
