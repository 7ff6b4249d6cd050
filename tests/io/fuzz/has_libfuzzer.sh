#!/bin/sh
# usage: has_libfuzzer.sh CLANG: succeeds where this compiler links programs with libFuzzer and the sanitizers.
set -eu
program=$(mktemp)
trap 'rm -f "$program"' EXIT
echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    "$1" -x c++ -fsanitize=fuzzer,address,undefined -o "$program" -
"$program" -runs=1
