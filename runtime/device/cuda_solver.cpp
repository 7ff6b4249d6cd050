#include "runtime/device/cuda_solver.hpp"

#include <string>

#include <dlfcn.h>

#include "base/library_function.hpp"
#include "runtime/device/cuda_check.hpp"

namespace basalt::detail {

namespace {

// That of the toolkit: cuSOLVER's version is one behind CUDA's.
#if CUDART_VERSION >= 13000
constexpr const char* solver_library = "libcusolver.so.12";
#else
constexpr const char* solver_library = "libcusolver.so.11";
#endif

/// The functions that a handle needs, as cusolverDn.h declares them; cusolverStatus_t is an enumeration whose 0 stands
/// for success.
struct SolverFunctions {
    int (*create)(void** handle) = nullptr;
    int (*destroy)(void* handle) = nullptr;
    int (*set_stream)(void* handle, cudaStream_t stream) = nullptr;
    std::string missing;  ///< why it cannot be used; empty: it can
};

template <class Function>
void find_function(void* library, const char* name, Function& function, std::string& missing) {
    if (!find_library_function(library, name, function)) missing = std::string(solver_library) + " has no " + name;
}

SolverFunctions load_solver() {
    SolverFunctions solver;
    void* const library = dlopen(solver_library, RTLD_NOW | RTLD_LOCAL);  // for the rest of the process
    if (library == nullptr) {
        const char* const why = dlerror();
        solver.missing = std::string("there is no cuSOLVER: ") + (why != nullptr ? why : solver_library);
        return solver;
    }
    find_function(library, "cusolverDnCreate", solver.create, solver.missing);
    find_function(library, "cusolverDnDestroy", solver.destroy, solver.missing);
    find_function(library, "cusolverDnSetStream", solver.set_stream, solver.missing);
    return solver;
}

const SolverFunctions& solver_functions() {
    static const SolverFunctions loaded = load_solver();
    return loaded;
}

void check_solver(int status, const char* call) {
    if (status == 0) return;
    throw CudaFailure{
        .call = call, .why = "status " + std::to_string(status), .where = std::source_location::current()};
}

}  // namespace

CudaSolver::CudaSolver(cudaStream_t stream) {
    const SolverFunctions& functions = solver_functions();
    if (!functions.missing.empty()) {
        throw CudaFailure{
            .call = "loading cuSOLVER", .why = functions.missing, .where = std::source_location::current()};
    }
    check_solver(functions.create(&handle_), "cusolverDnCreate");
    const int status = functions.set_stream(handle_, stream);
    if (status != 0) functions.destroy(handle_);
    check_solver(status, "cusolverDnSetStream");
}

CudaSolver::~CudaSolver() { solver_functions().destroy(handle_); }

}  // namespace basalt::detail
