#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh FUZZER SEEDS SECONDS [CORPUS]: fuzzes from the seeds, and from the inputs that an earlier run kept in CORPUS.
set -eu
fuzzer=$1 seeds=$2 seconds=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
corpus=${4:-$work/corpus}
mkdir -p "$corpus"
"$seeds" "$work/seeds"
"$fuzzer" -max_total_time="$seconds" -max_len=200000 -rss_limit_mb=1024 -timeout=10 -artifact_prefix="${TMPDIR:-/tmp}/" \
	-print_final_stats=1 "$corpus" "$work/seeds"
