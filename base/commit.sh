#!/bin/sh
# Prints the commit that is checked out, with -dirty where tracked files differ from it: the program and records name it.
# Records and the figures made of them do not count: a campaign appends to them. usage: commit.sh SOURCE_ROOT
set -e
cd "$1"
commit=$(git rev-parse --short=12 HEAD 2>/dev/null)
changed=$(git status --porcelain --untracked-files=no -- . ':!bench/results' ':!bench/plots' ':!docs' ':!README.md')
[ -z "$changed" ] || commit=$commit-dirty
printf '%s\n' "$commit"
