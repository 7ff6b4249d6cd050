#!/bin/sh
# The library and the program, then the Python package, which uses that library.
set -eu
meson setup conda-build --prefix="$PREFIX" --libdir=lib -Dbuildtype=release -Dcuda=auto
meson compile -C conda-build
meson install -C conda-build
PKG_CONFIG_PATH="$PREFIX/lib/pkgconfig" "$PYTHON" -m pip install --no-deps --no-build-isolation \
    -Csetup-args=-Dpython=linked .
