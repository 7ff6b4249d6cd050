#pragma once

namespace bench {

/// The commit this program was built from, or "unknown" outside a git checkout.
extern const char* const build_commit;

}  // namespace bench
