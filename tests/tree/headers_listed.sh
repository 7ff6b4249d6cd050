#!/bin/sh
# Every header in include/basalt is in its meson.build, so that it is installed and compiled alone.
# usage: headers_listed.sh INCLUDE_DIR LISTED_HEADER...
set -eu
directory=$1/basalt
shift
status=0
for header in "$directory"/*.hpp "$directory"/*.h; do
    name=${header##*/}
    case " $* " in
        *" $name "*) ;;
        *)
            echo "include/basalt/meson.build does not list $name"
            status=1
            ;;
    esac
done
exit $status
