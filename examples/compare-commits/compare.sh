#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# compare.sh BASE HEAD COMMAND…: measures a command in two commits of the current repository and compares them.
# The new directory $OUT receives the experiments: a1, a2 … of BASE and b1, b2 … of HEAD. The exit status is that of
# spartito diff: 3 if something takes over $LIMIT more. MARKDOWN=1: the comparison is Markdown.
set -eu
: "${OUT:=measured}" "${RUNS:=5}" "${LIMIT:=10%}"
base=$1 head=$2
shift 2
mkdir "$OUT"
out=$(cd "$OUT" && pwd)
trap 'git worktree remove --force "$out/base"; git worktree remove --force "$out/head"' EXIT
git worktree add -q --detach "$out/base" "$base"
git worktree add -q --detach "$out/head" "$head"

measure() { # measure TREE EXPERIMENT COMMAND…
    cd "$out/$1"
    experiment=$2
    shift 2
    spartito run -q --only-mine -o "$out/$experiment" -- "$@" >"$out/output-$experiment"
}

for run in $(seq "$RUNS"); do # alternately, so that slow changes of the machine affect both sides
    measure base "a$run" "$@"
    measure head "b$run" "$@"
done
cd "$out"
cmp output-a1 output-b1 || echo "the output of the commits differs"
spartito diff a[0-9]* --with b[0-9]* --share 20 --fail-above "$LIMIT" ${MARKDOWN:+--markdown}
