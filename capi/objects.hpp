#pragma once

#include <basalt/basalt.h>

#include <chrono>
#include <cstddef>
#include <memory>
#include <mutex>
#include <unordered_set>
#include <utility>
#include <variant>

#include "basalt/array.hpp"
#include "basalt/array2d.hpp"
#include "basalt/cholesky.hpp"
#include "basalt/config.hpp"
#include "basalt/graph.hpp"
#include "basalt/lu.hpp"
#include "basalt/matrix.hpp"
#include "basalt/qr.hpp"
#include "basalt/recording.hpp"
#include "basalt/runtime.hpp"
#include "basalt/token.hpp"
#include "capi/errors.hpp"

// What the opaque types of basalt/basalt.h are.

namespace basalt::capi {

/// Lives as long as the runtime or an object that belongs to it, so that objects can tell that the runtime has ended.
/// Factors use memory of the runtime, so they end with it. Thread-safe.
class RuntimeLife {
  public:
    explicit RuntimeLife(Runtime& runtime) : runtime_(&runtime) {}
    /// Throws UsageError after the end.
    Runtime& runtime() const;
    void add(basalt_factors& factors);
    void remove(basalt_factors& factors);
    /// To be called before the runtime ends.
    void end();

  private:
    mutable std::mutex mutex_;
    Runtime* runtime_;
    std::unordered_set<basalt_factors*> factors_;
};

}  // namespace basalt::capi

struct basalt_settings {
    basalt::Config config;
};

struct basalt_runtime {
    explicit basalt_runtime(const basalt::Config& config) : runtime(config) {}
    ~basalt_runtime() { life->end(); }
    basalt_runtime(const basalt_runtime&) = delete;
    basalt_runtime& operator=(const basalt_runtime&) = delete;

    basalt::Runtime runtime;
    const std::shared_ptr<basalt::capi::RuntimeLife> life = std::make_shared<basalt::capi::RuntimeLife>(runtime);
};

struct basalt_matrix {
    std::shared_ptr<basalt::capi::RuntimeLife> life;
    std::variant<basalt::Matrix<float>, basalt::Matrix<double>> matrix;
};

struct basalt_factors {
    using Factors = std::variant<basalt::LuFactors<float>, basalt::LuFactors<double>, basalt::CholeskyFactors<float>,
                                 basalt::CholeskyFactors<double>, basalt::QrFactors<float>, basalt::QrFactors<double>>;

    basalt_factors(std::shared_ptr<basalt::capi::RuntimeLife> of, Factors made)
        : life(std::move(of)), factors(std::move(made)) {
        life->add(*this);
    }
    ~basalt_factors() { life->remove(*this); }
    basalt_factors(const basalt_factors&) = delete;
    basalt_factors& operator=(const basalt_factors&) = delete;

    const std::shared_ptr<basalt::capi::RuntimeLife> life;
    Factors factors;
};

namespace basalt::capi {

/// Arrays are kept as bytes, so that tasks may access arrays of different types. A block keeps its partition, whose
/// other blocks may be gone.
using Line = Array<std::byte>;
using Plane = Array2D<std::byte>;
struct ArrayBlock {
    std::shared_ptr<Partition<std::byte>> partition;
    Index number;
    const Block<std::byte>& block() const { return (*partition)[number]; }
};

/// Rows and columns in elements.
struct ArrayShape {
    Index rows = 0;
    Index cols = 0;
    bool two_dimensional = false;
};

}  // namespace basalt::capi

struct basalt_array {
    std::shared_ptr<basalt::capi::RuntimeLife> life;
    std::size_t element_size;
    basalt::capi::ArrayShape shape;
    std::variant<basalt::capi::Line, basalt::capi::Plane, basalt::capi::ArrayBlock, basalt::Token> data;
};

struct basalt_graph {
    basalt_graph(basalt::Runtime& runtime, int priority) : graph(runtime, priority) {}
    basalt::Graph graph;
};

struct basalt_recording {
    basalt::Recording recording;
};

namespace basalt::capi {

Place place_of(basalt_place place);
std::chrono::nanoseconds limit_of(double seconds);
/// The enumerator, checked: C lets any number pass.
Triangle triangle_of(basalt_triangle triangle);
QrSide side_of(basalt_side side);
QrOp op_of(basalt_op op);

/// Calls f(T{}) with the type that `type` names.
template <class F>
auto with_type(basalt_type type, F&& f) {
    require_range("type", type, BASALT_FLOAT, BASALT_DOUBLE);
    return type == BASALT_FLOAT ? std::forward<F>(f)(float{}) : std::forward<F>(f)(double{});
}

/// The matrix as one of T. Throws UsageError where it has the other type.
template <class T>
Matrix<T>& matrix_of(basalt_matrix& matrix, const char* name) {
    if (auto* found = std::get_if<Matrix<T>>(&matrix.matrix)) return *found;
    throw UsageError(std::string(name) + " is a matrix of " + (sizeof(T) == 4 ? "double" : "float") +
                     "; allowed is one of the factors' type");
}

}  // namespace basalt::capi
