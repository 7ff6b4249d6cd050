#include <cstdint>

#include "lapack/engine/operands.hpp"
#include "lapack/engine/routines.hpp"

namespace basalt::lapack {

namespace {

MixedOptions options_for(const Call& call) {
    const Memory& a = call.a.memory;
    for (const Memory* const other : {&call.b.memory, &call.x.memory}) {
        if (other->on_gpu != a.on_gpu || other->gpu != a.gpu) throw Unsuited("A, B and X lie in different memories");
    }
    MixedOptions options;
    if (a.on_gpu) options.arrays_on_gpu = a.gpu;
    return options;
}

void note_result(Call& call, const MixedResult& result) {
    call.info = result.info;
    if (call.wide) {
        *static_cast<std::int64_t*>(call.iterations) = result.iterations;
    } else {
        *static_cast<std::int32_t*>(call.iterations) = result.iterations;
    }
}

double* array(const MatrixArgument& argument) { return static_cast<double*>(argument.data); }

}  // namespace

void dsgesv(Runtime& runtime, Call& call) {
    const Operands<double> operands(runtime, call);
    std::vector<Index> pivots(static_cast<std::size_t>(call.n));
    const MixedResult result = basalt::dsgesv(runtime, call.n, call.k, array(call.a), call.a.ld, pivots.data(),
                                              array(call.b), call.b.ld, array(call.x), call.x.ld, options_for(call));
    if (result.fell_back()) operands.store_pivots(pivots);
    note_result(call, result);
}

void dsposv(Runtime& runtime, Call& call) {
    const Operands<double> operands(runtime, call);  // refuses GPUs that the runtime does not have
    const Triangle triangle = call.uplo == 'L' ? Triangle::lower : Triangle::upper;
    note_result(call, basalt::dsposv(runtime, triangle, call.n, call.k, array(call.a), call.a.ld, array(call.b),
                                     call.b.ld, array(call.x), call.x.ld, options_for(call)));
}

}  // namespace basalt::lapack
