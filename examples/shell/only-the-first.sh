#!/bin/sh
# A timer on every machine starts this at the same time; one of them does the job and the others give up.
set -eu

export INCUMBENT_STORE="${INCUMBENT_STORE:-sqlite:elections.db}"

# Exit code 8: another candidate led for all of the ten seconds.
incumbent run --key nightly-report --wait 10s -- sh -c 'echo "the job runs"; sleep 20' && code=0 || code=$?
[ "$code" -ne 8 ] || echo "another machine does the job"
[ "$code" -eq 0 ] || [ "$code" -eq 8 ]
