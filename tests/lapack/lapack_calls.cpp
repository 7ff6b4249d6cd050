#include "tests/lapack/lapack_calls.hpp"

#include <mutex>
#include <utility>

extern "C" void dgesv_64_();

namespace basalt_tests {

/// Makes the linker keep libbasalt_lapack, whose symbols are looked up by name.
extern void (*const linked)();
void (*const linked)() = dgesv_64_;

namespace {

std::mutex lock;
std::vector<Complaint> heard;

void note(const char* name, long argument, std::size_t length) {
    const std::lock_guard guard(lock);
    std::string text(name, length);
    text.erase(text.find_last_not_of(' ') + 1);
    heard.push_back({text, argument});
}

}  // namespace

std::vector<Complaint> complaints() {
    const std::lock_guard guard(lock);
    return std::exchange(heard, {});
}

void* openblas_library() {
    static void* const library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    return library;
}

void* reference_library() {
    static void* const library = [] {
        void* const reference = dlopen(REFERENCE_LAPACK, RTLD_NOW | RTLD_LOCAL);
        return reference != nullptr ? reference : openblas_library();
    }();
    return library;
}

}  // namespace basalt_tests

extern "C" {
__attribute__((visibility("default"))) void xerbla_(const char* name, const std::int32_t* info, std::size_t length) {
    basalt_tests::note(name, *info, length);
}
__attribute__((visibility("default"))) void scipy_xerbla_(const char* name, const std::int32_t* info,
                                                          std::size_t length) {
    basalt_tests::note(name, *info, length);
}
__attribute__((visibility("default"))) void xerbla_64_(const char* name, const std::int64_t* info, std::size_t length) {
    basalt_tests::note(name, static_cast<long>(*info), length);
}
__attribute__((visibility("default"))) void scipy_xerbla_64_(const char* name, const std::int64_t* info,
                                                             std::size_t length) {
    basalt_tests::note(name, static_cast<long>(*info), length);
}
}
