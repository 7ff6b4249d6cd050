#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/cuda/batch/candidate_arguments.hpp"

/// Search for the fastest kernels of batched factorizations (decision 36), after Kurzak, Anzt, Gates, Dongarra,
/// "Implementation and Tuning of Batched Cholesky Factorization and Solve for NVIDIA GPUs", section 6.
namespace basalt::tuner {

using cuda_detail::batch::BatchJob;
using cuda_detail::batch::Residence;

enum class Routine { cholesky, lu, qr };
enum class Precision { single, twice };

/// What kernels are sought for: a batch of square matrices of one order, with one right-hand side each.
struct Problem {
    Routine routine = Routine::cholesky;
    BatchJob job = BatchJob::factor;
    Precision precision = Precision::single;
    int n = 1;

    friend bool operator==(const Problem&, const Problem&) = default;
};

/// Whether there are kernels for it: there is no Q^T B alone, and larger systems of LU are solved by two kernels.
bool has_kernels(const Problem& problem);

/// What a kernel gives up of IEEE arithmetic in single precision; double precision has no such instructions.
struct Arithmetic {
    bool approximate_roots = false;      ///< --prec-sqrt=false
    bool approximate_quotients = false;  ///< --prec-div=false
    bool denormals_to_zero = false;      ///< --ftz=true

    bool ieee() const { return !approximate_roots && !approximate_quotients && !denormals_to_zero; }
    friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

/// A kernel of the search space.
struct Candidate {
    Residence residence = Residence::lanes;
    int width = 1;            ///< columns of a panel; in lanes the padded order
    int threads = 32;         ///< of a block
    int bound = 32;           ///< threads that the compiler reckons with, at least `threads`
    int resident_blocks = 1;  ///< blocks that share a multiprocessor at least, for the compiler's choice of registers
    Arithmetic arithmetic{};

    friend bool operator==(const Candidate&, const Candidate&) = default;
};

/// "cholesky factor s 48".
std::string name_of(const Problem& problem);
/// "shared w16 t64/256 b2", with "sqrt", "div" and "ftz" where these are relaxed.
std::string name_of(const Candidate& candidate);
const char* name_of(Routine routine);
const char* name_of(BatchJob job);
const char* name_of(Residence residence);
char letter_of(Precision precision);

// From the names; nullopt for other texts.
std::optional<Routine> routine_named(const std::string& name);
std::optional<BatchJob> job_named(const std::string& name);
std::optional<Residence> residence_named(const std::string& name);

/// The program of a candidate, with one kernel `candidate`. Does not depend on the order of the problem itself, so
/// that problems share kernels.
std::string source_of(const Problem& problem, const Candidate& candidate);
/// Options of the compiler for a GPU such as "sm_90".
std::vector<std::string> compiler_options(const Candidate& candidate, const std::string& architecture);

/// Matrices that a block treats.
int matrices_a_block(const Problem& problem, const Candidate& candidate);
/// Bytes of a block's shared memory that a launch asks for, beyond what the kernel itself has.
std::size_t launched_shared_bytes(const Problem& problem, const Candidate& candidate);
/// All of a block's shared memory.
std::size_t shared_bytes(const Problem& problem, const Candidate& candidate);

}  // namespace basalt::tuner
