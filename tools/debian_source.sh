# SPDX-License-Identifier: BSD-3-Clause
# For scripts that build an interpreter from the source packages of a distribution, which source this file.

# Sets prefix and python, the place of the interpreter of this name in SPARTITO_CACHE and its path there. If it is there, prints the path
# and ends the script. Otherwise sets work, a directory for temporary files, and log, the file to which apt and the build write.
build_once() {
	local cache=${SPARTITO_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/spartito}/pythons
	prefix=$cache/$1 python=$cache/$1/bin/$2
	if [ -x "$python" ]; then
		echo "$python"
		exit 0
	fi
	[ "$(id -u)" = 0 ] || { echo "$0: needs root" >&2; exit 1; }
	mkdir -p "$cache"
	log=$prefix.log
	work=$(mktemp -d "$cache/build.XXXXXX")
	trap 'rm -rf "$work"' EXIT
}

debian_mirror=http://deb.debian.org/debian debian_keyring=/usr/share/keyrings/debian-archive-keyring.gpg

apt_install() { DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >>"$log" 2>&1; }

# Downloads the source of packages from a suite with apt's own client, on lists of its own, into $work/source.
download() {
	local mirror=$1 suite=$2 components=$3 keyring=$4
	shift 4
	local lists=$work/lists-$suite
	mkdir -p "$lists/partial" "$work/source"
	local signed=signed-by=$keyring
	if [ ! -e "$keyring" ]; then
		echo "no keyring for $mirror, its source is not authenticated" >>"$log"
		signed=trusted=yes
	fi
	echo "deb-src [$signed] $mirror $suite $components" >"$work/$suite.list"
	local apt="-o Dir::Etc::SourceList=$work/$suite.list -o Dir::Etc::SourceParts=- -o Dir::State::Lists=$lists
		-o Dir::Cache::pkgcache= -o Dir::Cache::srcpkgcache= -o Acquire::Languages=none"
	apt-get $apt -qq update >>"$log" 2>&1 && (cd "$work/source" && apt-get $apt -qq source --download-only --tar-only "$@" >>"$log" 2>&1)
}

# Unpacks the source of a package and prints its directory.
unpack() {
	mkdir "$work/$1"
	tar xf "$work/source/$1"_*.orig.tar.* -C "$work/$1" --strip-components=1
	echo "$work/$1"
}
