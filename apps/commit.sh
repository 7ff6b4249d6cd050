#!/bin/sh
# Writes the commit that is checked out as a C++ file. usage: commit.sh SOURCE_ROOT OUTPUT
commit=$(git -C "$1" rev-parse --short=12 HEAD 2>/dev/null) || commit=unknown
cat >"$2" <<END
#include "apps/commit.hpp"

namespace basalt {

const char* const build_commit = "$commit";

}  // namespace basalt
END
