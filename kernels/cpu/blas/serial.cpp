#include "kernels/cpu/blas/serial.hpp"

#include <cblas.h>

#include <mutex>

#include "base/process.hpp"

namespace basalt {

namespace {

constinit std::mutex setting_lock;  // guards the two below and the change of OpenBLAS's setting with them
const detail::HeldDuringForks<setting_lock> setting_is_known;
int users = 0;
int saved_threads = 0;

}  // namespace

BlasSerial::BlasSerial() {
    const std::lock_guard guard(setting_lock);
    if (users++ > 0) return;
    saved_threads = openblas_get_num_threads();
    if (saved_threads != 1) openblas_set_num_threads(1);
}

BlasSerial::~BlasSerial() {
    const std::lock_guard guard(setting_lock);
    if (--users == 0 && saved_threads != 1) openblas_set_num_threads(saved_threads);
}

}  // namespace basalt
