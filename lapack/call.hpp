#pragma once

#include <cstddef>
#include <cstdint>

#include <basalt/view.hpp>

namespace basalt::lapack {

/// LAPACK's names without the precision, in the order of routine_names.
enum class Routine : std::uint8_t {
    getrf,
    getrs,
    gesv,
    getri,
    gecon,
    potrf,
    potrs,
    posv,
    potri,
    pocon,
    geqrf,
    orgqr,
    ormqr,
    gels,
    trtrs,
    trtri,
    dsgesv,  ///< the whole name: there is one precision
    dsposv,
};
inline constexpr int routines = 18;

/// The memory that an array of the user's lies in.
struct Memory {
    bool on_gpu = false;       ///< device or managed memory
    bool host_can_use = true;  ///< host or managed memory
    int gpu = 0;               ///< CUDA's number of the GPU
};

/// A column-major array of a call.
struct MatrixArgument {
    void* data = nullptr;
    Index ld = 1;
    Memory memory{};
};

/// An array of numbers without a leading dimension.
struct VectorArgument {
    void* data = nullptr;
    Memory memory{};
};

/// A call of one of LAPACK's routines, whatever its spelling and precision. Letters are upper-case. What a routine does
/// not have keeps its default.
struct Call {
    Routine routine = Routine::getrf;
    bool is_double = true;
    bool wide = false;  ///< integers have 64 bits, otherwise 32

    char side = 'L';
    char uplo = 'L';
    char trans = 'N';
    char diag = 'N';
    char norm = '1';
    Index m = 0;  ///< rows of A; of C for ormqr
    Index n = 0;  ///< columns of A; of C for ormqr
    Index k = 0;  ///< right-hand sides, or reflectors
    MatrixArgument a{};
    MatrixArgument b{};       ///< right-hand sides, or C
    MatrixArgument x{};       ///< solutions, where they are not B
    VectorArgument tau{};     ///< of the call's precision
    VectorArgument pivots{};  ///< integers of the call's width
    double anorm = 0;
    void* rcond = nullptr;       ///< of the call's precision
    void* iterations = nullptr;  ///< ITER: an integer of the call's width

    Index info = 0;
};

/// Whether a call has nothing to compute.
inline bool is_empty(const Call& call) {
    if (call.m == 0 || call.n == 0) return true;
    switch (call.routine) {
        case Routine::getrs:
        case Routine::potrs:
        case Routine::trtrs:
        case Routine::gels:
        case Routine::dsgesv:
        case Routine::dsposv:
        case Routine::ormqr: return call.k == 0;
        default: return false;
    }
}

/// What the library that executes calls offers to the one that has LAPACK's names. It is loaded at the first call that
/// is taken.
struct Engine {
    /// Executes a call. Otherwise, if that fails or does not suit the call, the arrays are as they were, `reason` has
    /// the reason as a text of less than `size` bytes, and the result is false.
    bool (*execute)(Call& call, char* reason, std::size_t size) noexcept;
};

/// The symbol of the function that returns it.
inline constexpr const char* engine_symbol = "basalt_lapack_engine_1";

}  // namespace basalt::lapack
