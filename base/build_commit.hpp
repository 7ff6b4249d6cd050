#pragma once

namespace basalt {

/// The commit that this program was built from, with "-dirty" where files differ from it, or "unknown" outside a git
/// checkout.
extern const char* const build_commit;

}  // namespace basalt
