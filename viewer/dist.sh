#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Run by `meson dist`: an sdist holds the built page, so that whoever installs it needs no node.
set -eu
viewer=$MESON_SOURCE_ROOT/viewer
if [ ! -d "$viewer/node_modules/esbuild" ]; then
	echo "the sdist holds the built viewer: run tools/viewer.sh, then make the sdist again" >&2
	exit 1
fi
node "$viewer/build.mjs" "$MESON_DIST_ROOT/viewer/built"
