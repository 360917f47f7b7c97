#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# musl_cc.sh DIRECTORY [MUSL_GCC]: makes a compiler for musl in DIRECTORY, musl-cc, and prints its path. It is musl-gcc, by default that of
# Debian, with the headers of the kernel, which that one does not search, and with the name of its platform, for which the build of Python
# asks. If musl-tools is missing and cannot be installed, the status is 77.
set -eu
case $(uname -m) in x86_64) ;; *) echo "$0: tried on x86-64 only" >&2; exit 77 ;; esac
wrapped=${2:-musl-gcc}
if ! command -v "$wrapped" >/dev/null || [ ! -e /usr/include/linux ]; then
	{ [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null; } || { echo "$0: no $wrapped here (apt install musl-tools linux-libc-dev)" >&2; exit 77; }
	DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends musl-tools linux-libc-dev >/dev/null 2>&1 ||
		{ echo "$0: musl-tools cannot be installed" >&2; exit 77; }
fi
mkdir -p "$1/kernel"
directory=$(cd "$1" && pwd)
ln -sfn /usr/include/linux "$directory/kernel/linux"
ln -sfn /usr/include/asm-generic "$directory/kernel/asm-generic"
ln -sfn /usr/include/x86_64-linux-gnu/asm "$directory/kernel/asm"
# by its path, as cc and gcc on PATH may be names of this compiler
gcc=$(command -v gcc)
cat >"$directory/musl-cc" <<EOF
#!/bin/sh
[ "\$*" != --print-multiarch ] || { echo x86_64-linux-musl; exit 0; }
REALGCC='$gcc' exec '$(command -v "$wrapped")' "\$@" -idirafter '$directory/kernel'
EOF
chmod +x "$directory/musl-cc"
echo "$directory/musl-cc"
