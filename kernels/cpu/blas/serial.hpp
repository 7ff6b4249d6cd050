#pragma once

namespace basalt {

/// While one of these lives, OpenBLAS runs single-threaded: tasks bring their own parallelism. The setting
/// that was there before is restored with the last one. May be made by many threads at once.
class BlasSerial {
  public:
    BlasSerial();
    ~BlasSerial();
    BlasSerial(const BlasSerial&) = delete;
    BlasSerial& operator=(const BlasSerial&) = delete;
};

}  // namespace basalt
