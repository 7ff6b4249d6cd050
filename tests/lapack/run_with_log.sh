#!/bin/sh
# run_with_log.sh LOG PROGRAM ARGUMENT...: runs a test program with a new log of libbasalt_lapack.
set -eu
rm -f "$1"
BASALT_LAPACK_LOG=$1
export BASALT_LAPACK_LOG
shift
exec "$@"
