#!/bin/sh
# Programs outside the tree, in C++ and in C, build against the installed library and run: through pkg-config and through
# CMake. The installed tree stands in a folder it was not configured for, so it can be moved as well.
# usage: outside_program.sh BUILD_DIR PROGRAM_DIR PREFIX LIBDIR VERSION COMPILER...
set -eu
build=$1
program=$2
prefix=$3
libdir=$4
version=$5
shift 5

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What the tools say matters only when they fail.
quietly() {
    "$@" >"$work/log" 2>&1 || {
        cat "$work/log"
        exit 1
    }
}

quietly meson install -C "$build" --no-rebuild --quiet --destdir "$work/installed"
installed=$work/installed$prefix
export LD_LIBRARY_PATH="$installed/$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"

export PKG_CONFIG_PATH="$installed/$libdir/pkgconfig"
[ "$(pkg-config --modversion basalt)" = "$version" ] || {
    echo "basalt.pc names version $(pkg-config --modversion basalt), the project is $version"
    exit 1
}
# shellcheck disable=SC2046 # the flags are several words
"$@" -std=c++20 "$program/main.cpp" -o "$work/by_pkg_config" $(pkg-config --cflags --libs basalt)
"$work/by_pkg_config" "$version"
# shellcheck disable=SC2046
"${CC:-cc}" -std=c11 -Wall -Wextra -Werror "$program/main.c" -o "$work/c_by_pkg_config" $(pkg-config --cflags --libs basalt)
"$work/c_by_pkg_config" "$version"

# The command may start with ccache: CMake takes several words from the environment only.
quietly env CXX="$*" cmake -S "$program" -B "$work/cmake" -G Ninja -DCMAKE_PREFIX_PATH="$installed"
quietly cmake --build "$work/cmake"
"$work/cmake/by_cmake" "$version"
"$work/cmake/by_cmake_c" "$version"

quietly cmake -S "$program" -B "$work/c_alone" -G Ninja -DC_ALONE=ON -DCMAKE_PREFIX_PATH="$installed"
quietly cmake --build "$work/c_alone"
"$work/c_alone/by_cmake_c" "$version"
