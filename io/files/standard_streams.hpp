#pragma once

namespace basalt {

/// Keeps descriptors 0, 1 and 2 from being given to files. Call it first in main(): a stream that the caller has closed
/// is then open on /dev/null in the wrong direction, so that reading or writing it fails as on a closed one, and the
/// next file that is opened gets another number. Otherwise the lines meant for standard output or standard error would
/// end up in that file.
void reserve_standard_streams();

/// Lets writes beyond the file size limit (ulimit -f) fail with EFBIG instead of ending the process by SIGXFSZ.
void ignore_file_size_signal();

}  // namespace basalt
