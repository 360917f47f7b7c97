#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# arm64_system.sh [TESTS...] | -c COMMAND: runs tests on ARM64 under Debian's kernel, in a machine that
# qemu-system-aarch64 emulates, with pointer authentication and branch target identification. There Spartito can read and
# stop other processes and has perf events and the processor's counter as its clock, unlike under qemu-user.
#   TESTS    files and folders for pytest, after the C tests of the suite `processes`; default: tests/py/docs/test_support.py
#            (the features of docs/versions.md) tests/py/sample tests/py/record tests/py/memory tests/py/waits; many hours
#   COMMAND  is run by bash in the tree instead, on this terminal; `bash` for an interactive shell
# tools/distributions.sh builds Spartito with a cross compiler in its chroot debian12-arm64. A copy of that chroot with
# compilers for ARM64 becomes the root file system, in memory: the kernel needs no driver for it, and the emulated
# machine keeps nothing. Programs take about 10 to 20 times as long as here. pytest's limit of time is off; a test that
# fails at another limit (TimeoutExpired, "not seen in 100 s") has to be repeated alone.
# Needs root, 6 GB of memory, and the packages cpio and qemu-system-arm, which are installed if missing. Status: that of
# the tests. SPARTITO_WORKERS: processors of the machine, and processes that run tests (default: one for each core).
set -eu
cd "$(dirname "$0")/.."
cache=${SPARTITO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/spartito}/distributions
chroot=$cache/debian12-arm64 system=$cache/debian12-arm64-system python=python3.11
workers=${SPARTITO_WORKERS:-$(nproc)}
packages="gcc g++ procps iproute2"

apt_install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1; }
[ "$(id -u)" = 0 ] || { echo "$0: needs root" >&2; exit 1; }
command -v cpio >/dev/null || apt_install cpio || { echo "$0: needs cpio" >&2; exit 1; }
command -v qemu-system-aarch64 >/dev/null || apt_install qemu-system-arm || { echo "$0: needs qemu-system-arm" >&2; exit 1; }

command=
if [ "${1:-}" = -c ]; then
	command=$2
elif [ $# = 0 ]; then
	set -- tests/py/docs/test_support.py tests/py/sample tests/py/record tests/py/memory tests/py/waits
fi
tools/distributions.sh build debian12-arm64

# Runs a command in the system under qemu-user; the mounts end with it.
inside() {
	unshare -m sh -c 'for m in proc dev dev/pts; do mount --bind "/$m" "$1/$m"; done
		exec chroot "$1" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin DEBIAN_FRONTEND=noninteractive /bin/sh -c "$2"' \
		sh "$system" "$1"
}

# The copy of the chroot, and the kernel. A newer chroot, or other packages, make it again.
make_system() {
	local want
	want="$(cat "$chroot/.ready") $packages"
	[ "$(cat "$system/.system" 2>/dev/null)" != "$want" ] || return 0
	echo "Making the root file system of the emulated machine"
	rm -rf --one-file-system "$system"
	cp -a "$chroot" "$system"
	# these replace the cross compiler in /usr/bin; a mirror may have an older state of the suite than its lists allow
	inside "apt-get -qq -o Acquire::Check-Valid-Until=false update && apt-get install -y -qq --no-install-recommends $packages &&
		cd /boot && apt-get -qq download \$(apt-cache depends linux-image-arm64 | awk '/Depends: linux-image/ { print \$2; exit }')" \
		>"$system.log" 2>&1 || { tail -n 20 "$system.log" >&2; exit 1; }
	dpkg-deb --fsys-tarfile "$system"/boot/linux-image-*.deb | tar -x -C "$system" --wildcards './boot/vmlinuz-*'
	rm "$system"/boot/linux-image-*.deb
	mv "$system"/boot/vmlinuz-* "$system/boot/vmlinuz"
	# what this processor's compiler needs is not for the emulated machine
	rm -rf "$system"/usr/lib/x86_64-linux-gnu "$system"/usr/aarch64-linux-gnu "$system"/usr/share/doc "$system"/var/cache/apt "$system"/var/lib/apt/lists
	printf '%s' "$want" >"$system/.system"
}

# The first process of the machine. It collects orphans, as bash does; the kernel's console is its terminal.
write_init() {
	cat >"$system/init" <<-'INIT'
		#!/bin/bash
		export HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8
		mount -t proc proc /proc
		mount -t sysfs sysfs /sys
		mount -t devtmpfs devtmpfs /dev
		mkdir -p /dev/pts /dev/shm
		mount -t devpts devpts /dev/pts
		mount -t tmpfs tmpfs /dev/shm
		mount -t tmpfs -o size=75% tmpfs /tmp
		ln -s /proc/self/fd /dev/fd
		for i in 0:stdin 1:stdout 2:stderr; do ln -s "/proc/self/fd/${i%:*}" "/dev/${i#*:}"; done
		ip link set lo up
		echo arm64 >/proc/sys/kernel/hostname
		cd /src
		setsid -c -w bash /run-in-system
		echo "arm64_system: status $?"
		echo o >/proc/sysrq-trigger
		sleep 1000
	INIT
	chmod +x "$system/init"
}

# What runs in the machine; its status is that of the first step that failed.
write_commands() {
	if [ -n "$command" ]; then
		printf '%s\n' "export PATH=/var/tmp/$python/bin:\$PATH" "$command" >"$system/run-in-system"
		return
	fi
	cat >"$system/run-in-system" <<-COMMANDS
		status=0
		# not to a terminal: no colours, no lines that are written again
		step() {
		        "\$@" </dev/null 2>&1 | cat
		        local one=\${PIPESTATUS[0]}
		        status=\$((status ? status : one))
		}
		uname -srm
		step /var/tmp/meson/bin/meson test -C /var/tmp/c --no-rebuild --suite processes -t 20 --print-errorlogs
		for tests in $*; do
		        step /var/tmp/$python/bin/python -m pytest -q -n $workers -p no:cacheprovider -o timeout=0 -rfEs --tb=short --durations=10 "\$tests"
		done
		exit \$status
	COMMANDS
}

make_system
rm -rf "$system/src" "$system/var/tmp"
cp -a "$chroot/src" "$system/src"
cp -a "$chroot/var/tmp" "$system/var/tmp"
write_init
write_commands "$@"
image=$(mktemp "$cache/arm64-XXXXXX")
trap 'rm -f "$image" "$image.log"' EXIT
(cd "$system" && find . -mount -path './tmp/*' -prune -o -print0 | cpio -0 -o -H newc --quiet >"$image")

# impdef: another algorithm for pointer authentication; with the architecture's own, emulation takes several times as long.
# The kernel's messages stay out of the results, except of what is severe.
set -- -M virt,gic-version=3 -cpu max,pauth-impdef=on -smp "$workers" -m 4G -nic none -nographic -no-reboot -kernel "$system/boot/vmlinuz" \
	-initrd "$image" -append "console=ttyAMA0 rdinit=/init quiet panic=-1"
if [ -n "$command" ]; then
	qemu-system-aarch64 "$@"
	exit
fi
qemu-system-aarch64 "$@" </dev/null | sed -u 's|\r$||' | tee "$image.log"
status=$(sed -n 's/^arm64_system: status //p' "$image.log" | tail -n 1)
exit "${status:-1}"
