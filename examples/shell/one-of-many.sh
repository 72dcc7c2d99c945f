#!/bin/sh
# Runs a command on one of several machines; the others wait, and one of them takes over when the leader leaves.
set -eu

# On NATS this would be nats://host:4222/ELECTIONS, the same on every machine.
export INCUMBENT_STORE="${INCUMBENT_STORE:-sqlite:elections.db}"

# States that no election was held here before, so that the first leader need not wait for a lease. Do it once, by hand.
incumbent init --new

# The command runs while this candidate leads, and is dead before another candidate can lead. Instead of a command after
# `--` there can be handlers: --on-won and --on-lost.
incumbent run --key nightly-report --name "$(hostname)" -- \
    sh -c 'echo "leading in $INCUMBENT_KEY with token $INCUMBENT_TOKEN"'

# The command ended, and so did this candidate: the election is vacant.
incumbent status nightly-report
