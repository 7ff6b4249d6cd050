#include "bench/vendor/vendor.hpp"

#include <cerrno>
#include <cstdlib>
#include <stdexcept>
#include <system_error>

#include <cblas.h>
#include <strings.h>
#include <unistd.h>

namespace bench {

using basalt::Index;

namespace {

constexpr const char* core_variable = "OPENBLAS_CORETYPE";
constexpr const char* cache_variable = "OPENBLAS_L2_SIZE";

lapack_int lapack_index(Index value) { return static_cast<lapack_int>(value); }
lapack_int leading(Index rows) { return lapack_index(rows < 1 ? 1 : rows); }

bool same(const std::string& a, const std::string& b) { return strcasecmp(a.c_str(), b.c_str()) == 0; }

bool core_uses_avx512(const std::string& core) {
    return same(core, "SkylakeX") || same(core, "Cooperlake") || same(core, "SapphireRapids");
}

}  // namespace

Index Vendor<double>::getrf(Index m, Index n, double* a, std::vector<lapack_int>& pivots) {
    return LAPACKE_dgetrf_work(LAPACK_COL_MAJOR, lapack_index(m), lapack_index(n), a, leading(m), pivots.data());
}
Index Vendor<float>::getrf(Index m, Index n, float* a, std::vector<lapack_int>& pivots) {
    return LAPACKE_sgetrf_work(LAPACK_COL_MAJOR, lapack_index(m), lapack_index(n), a, leading(m), pivots.data());
}

void Vendor<double>::gemm(Index m, Index n, Index k, const double* a, const double* b, double* c) {
    cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, lapack_index(m), lapack_index(n), lapack_index(k), -1, a,
                leading(m), b, leading(k), 1, c, leading(m));
}
void Vendor<float>::gemm(Index m, Index n, Index k, const float* a, const float* b, float* c) {
    cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, lapack_index(m), lapack_index(n), lapack_index(k), -1, a,
                leading(m), b, leading(k), 1, c, leading(m));
}

void set_vendor_threads(int threads) { openblas_set_num_threads(threads); }

std::string vendor_version() {
    const std::string config = openblas_get_config();  // "OpenBLAS 0.3.21 NO_LAPACKE DYNAMIC_ARCH ..."
    const auto name_end = config.find(' ');
    return config.substr(0, name_end == config.npos ? name_end : config.find(' ', name_end + 1));
}

std::string vendor_core() { return openblas_get_corename(); }

std::string vendor_note() {
    std::string note;
    const auto remark = [&note](const std::string& text) { note += (note.empty() ? "note: " : "; ") + text; };
    for (const char* name : {core_variable, cache_variable}) {
        if (const char* value = std::getenv(name)) remark(std::string(name) + " is " + value);
    }
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f") && !core_uses_avx512(vendor_core())) {
        remark("OpenBLAS uses its " + vendor_core() + " kernels, narrower than this processor's AVX-512");
    }
#endif
    return note.empty() ? note : note + "; see --vendor-coretype";
}

void require_vendor_core(const std::string& core, char** argv) {
    const bool by_itself = core == "auto";
    const char* told = std::getenv(core_variable);
    const bool as_wanted =
        by_itself ? told == nullptr && std::getenv(cache_variable) == nullptr : told != nullptr && same(told, core);
    if (!as_wanted) {
        if (by_itself) {
            unsetenv(core_variable);
            unsetenv(cache_variable);
        } else {
            setenv(core_variable, core.c_str(), 1);
        }
        execv("/proc/self/exe", argv);
        throw std::system_error(errno, std::generic_category(), "starting this program again");
    }
    if (by_itself || same(vendor_core(), core)) return;
    throw std::invalid_argument("--vendor-coretype: this OpenBLAS has no kernels called " + core + " (it took " +
                                vendor_core() +
                                "); allowed: auto and, as far as it was built with them, SkylakeX, Cooperlake, "
                                "SapphireRapids, Haswell, Zen, Sandybridge, Nehalem, Prescott");
}

}  // namespace bench
