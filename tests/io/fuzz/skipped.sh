#!/bin/sh
# usage: skipped.sh REASON: a test that cannot run here. Says why; 77 is Meson's exit status for a skipped test.
echo "skipped: $1"
exit 77
