#!/usr/bin/env bash
# tools/mpirun.sh LIBRARY N PROGRAM [ARGUMENTS] - starts N local ranks with the launcher of openmpi or mpich, also as
# root and with more ranks than cores. For tests and benchmarks; users call mpirun themselves.
set -euo pipefail
library=$1 count=$2
shift 2
case "$library" in
  openmpi)
    # Idle ranks yield their core; the launcher stays quiet when a rank fails, as the tests expect.
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
