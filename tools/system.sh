#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Installs the system packages that are missing: through apt when this is root or sudo asks for no password, otherwise the
# exact command is printed and the exit status is 1. Arguments: build, test, lint.
set -eu
PYTHON=${PYTHON:-python3}

# Ubuntu has its chromium as a snap, which does not start in many places.
browser() {
	if grep -qs '^ID=debian' /etc/os-release; then echo chromium; fi
}

# What clang's sanitizers and its fuzzer link with, where that is a package by itself.
runtime() {
	if grep -qs '^ID=debian' /etc/os-release || apt-cache show libclang-rt-dev >/dev/null 2>&1; then echo libclang-rt-dev; fi
}

# What builds the viewer, unless it is here from elsewhere.
node() { if ! command -v npm >/dev/null; then echo nodejs npm; fi; }

packages() {
	case $1 in
	build) echo build-essential pkg-config libdw-dev libotf2-trace-dev libzstd-dev zlib1g-dev otf2-tools $(node) ;;
	# valgrind brings callgrind_annotate, python3-otf2 the foreign reader of the traces, which imports six without saying so;
	# shells to complete in, a formatter of man pages, both kinds of mpiexec, a browser for the viewers of traces, and what reads and
	# draws graphs; and ccache, which meson finds by itself: the same files are compiled for each Python
	test) echo ccache graphviz python3-otf2 python3-six gfortran clang valgrind zsh fish groff-base openmpi-bin libopenmpi-dev mpich libmpich-dev $(browser) ;;
	lint) echo clang clang-format $(runtime) ;;
	*) echo "$0: unknown group $1 (build, test, lint)" >&2; exit 2 ;;
	esac
}

# What the interpreter needs to build an extension and a virtual environment; one that was built from source has both.
python_packages() {
	if ! command -v "$PYTHON" >/dev/null; then
		if [ "$PYTHON" = python3 ]; then echo python3 python3-dev python3-venv; return; fi
		echo "$0: no Python called $PYTHON" >&2
		exit 1
	fi
	"$PYTHON" - <<-'PY'
		import importlib.util, os, sys, sysconfig
		if sys.version_info < (3, 9):
		    sys.exit(f"Spartito needs CPython 3.9 or newer; {sys.executable} is Python {sys.version.split()[0]}. "
		             "Choose another one with PYTHON=…")
		ours = "python3" if sys.executable == "/usr/bin/python3" else f"python{sys.version_info[0]}.{sys.version_info[1]}"
		if not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")):
		    print(ours + "-dev")
		if importlib.util.find_spec("ensurepip") is None or importlib.util.find_spec("venv") is None:
		    print(ours + "-venv")
	PY
}

wanted=$(python_packages)
for group; do wanted="$wanted $(packages "$group")"; done

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
	command -v cc >/dev/null && command -v "$PYTHON" >/dev/null && exit 0
	echo "No apt here. Please install what Debian calls: $wanted" >&2
	exit 1
fi

missing=
for p in $wanted; do
	[ "$(dpkg-query -W -f '${db:Status-Status}' "$p" 2>/dev/null || true)" = installed ] || missing="$missing $p"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then sudo=
elif sudo -n true 2>/dev/null; then sudo=sudo
else
	echo "System packages are missing, and there is neither root nor a sudo that asks for no password. Please run:" >&2
	echo "    sudo apt-get update && sudo apt-get install -y --no-install-recommends$missing" >&2
	exit 1
fi
echo "Installing with apt:$missing"
$sudo apt-get update -qq
$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $missing >/dev/null
