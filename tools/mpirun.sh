#!/usr/bin/env bash
# tools/mpirun.sh LIBRARY N PROGRAM [ARGUMENTS] - starts N ranks on this machine with openmpi's or mpich's own launcher,
# as root too, and more of them than there are cores. For tests and benchmarks; users call mpirun themselves.
set -euo pipefail
library=$1 count=$2
shift 2
case "$library" in
  openmpi)
    # Idle ranks give their core away; the launcher is quiet when a rank ends with an error, as the tests want it.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_mpi_yield_when_idle=1
    launcher=(mpirun.openmpi --quiet --oversubscribe --bind-to "${ATTNSCOPE_BIND:-none}")
    ;;
  mpich)
    launcher=(mpirun.mpich -bind-to "${ATTNSCOPE_BIND:-none}")
    ;;
  *)
    echo "usage: tools/mpirun.sh openmpi|mpich N PROGRAM [ARGUMENTS]" >&2
    exit 2
    ;;
esac
exec "${launcher[@]}" -n "$count" "$@"
