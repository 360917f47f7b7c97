#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# compare.sh BASE HEAD COMMAND…: measures a command in two commits of the current repository and compares them.
# The new directory $OUT receives the experiments: a1, a2 … of BASE and b1, b2 … of HEAD. The exit status is that of
# spartito diff: 3 if something takes over $LIMIT more (LIMIT= for no limit). MARKDOWN=1: the comparison is Markdown.
# BASE may also be the directory of an earlier comparison: its experiments b1, b2 … are the base, without new runs.
set -eu
: "${OUT:=measured}" "${RUNS:=5}" "${LIMIT=10%}"
base=$1 head=$2 sides="a b"
shift 2
mkdir "$OUT"
out=$(cd "$OUT" && pwd)
first=$out/a
[ ! -d "$base/b1" ] || { first=$(cd "$base" && pwd)/b sides=b; }
checkout() { # checkout a|b COMMIT
    case $sides in *$1*) git worktree add -q --detach "$out/tree-$1" "$2" ;; esac
}
trap 'for side in $sides; do git worktree remove --force "$out/tree-$side"; done' EXIT
checkout a "$base"
checkout b "$head"

measure() { # measure a|b RUN COMMAND…
    cd "$out/tree-$1"
    experiment=$1$2
    shift 2
    spartito run -q --only-mine -o "$out/$experiment" -- "$@" >"$out/output-$experiment"
}

for run in $(seq "$RUNS"); do # alternately, so that slow changes of the machine affect both sides
    for side in $sides; do measure "$side" "$run" "$@"; done
done
cd "$out"
cmp "${first%?}output-${first##*/}1" output-b1 || echo "the output of the commits differs"
spartito diff "$first"[0-9]* --with b[0-9]* --share 20 ${LIMIT:+--fail-above "$LIMIT"} ${MARKDOWN:+--markdown}
