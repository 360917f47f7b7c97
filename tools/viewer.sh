#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Brings the packages that build and test the viewer into viewer/node_modules, as package-lock.json names them.
set -eu
cd "$(dirname "$0")/../viewer"
exec 9<. # whoever builds for several Pythons at once comes here several times
flock 9
stamp=node_modules/.from
if cmp -s package-lock.json "$stamp"; then exit 0; fi
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	echo "$0: needs node and npm (Debian's packages nodejs and npm)" >&2
	exit 1
fi
echo "Installing what the viewer needs with npm"
if ! npm ci --no-progress >../build-npm.log 2>&1; then
	tail -n 40 ../build-npm.log >&2
	exit 1
fi
rm -f ../build-npm.log
cp package-lock.json "$stamp"
