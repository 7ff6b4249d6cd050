#!/bin/sh
# A public header compiles alone, twice in one file, with warnings as errors.
# usage: header_alone.sh HEADER INCLUDE_DIR COMPILER...
set -eu
header=$1
include_dir=$2
shift 2
# basalt.h is C's as well.
case $header in *.h)
    printf '#include <basalt/%s>\n#include <basalt/%s>\n' "$header" "$header" |
        "${CC:-cc}" -std=c11 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$include_dir" -x c -
    ;;
esac
printf '#include <basalt/%s>\n#include <basalt/%s>\n' "$header" "$header" |
    "$@" -std=c++20 -Wall -Wextra -Wpedantic -Werror -fsyntax-only -I "$include_dir" -x c++ -
