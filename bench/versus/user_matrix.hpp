#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include <basalt/basalt.hpp>

#include "bench/vendor/gpu.hpp"
#include "bench/versus/dealt_conversion.hpp"
#include "bench/versus/dealt_matrix.hpp"

namespace bench {

/// The user's matrix, column-major: in pinned host memory ("host"), in the first GPU's memory ("device"), or with its
/// columns dealt to GPUs ("devices").
template <class T>
class UserMatrix {
  public:
    /// `dealt` matters only with "devices".
    UserMatrix(const std::string& data, basalt::Index rows, const basalt::DealtColumns& dealt)
        : rows_(rows), cols_(dealt.cols()), is_dealt_(data == "devices") {
        if (data == "host") {
            host_.reset(allocate_pinned(bytes()));
        } else {
            gpus_ = std::make_unique<DealtMatrix<T>>(rows, is_dealt_ ? dealt : whole<T>(nullptr, rows, cols_).columns);
        }
    }

    bool on_host() const { return host_ != nullptr; }
    bool is_dealt() const { return is_dealt_; }
    std::size_t bytes() const { return static_cast<std::size_t>(rows_ * cols_) * sizeof(T); }

    basalt::DealtView<T> columns() const {
        return on_host() ? whole(static_cast<T*>(host_.get()), rows_, cols_) : gpus_->view();
    }
    /// Only of a matrix that is not dealt.
    T* data() const { return columns().parts.front(); }
    basalt::View<T> view() const { return basalt::View<T>::column_major(data(), rows_, cols_, rows_); }

    /// Calls use(columns) with columns on GPUs: the matrix's own, or those of a temporary copy that is dealt so.
    template <class F>
    auto on_gpus(const basalt::DealtColumns& dealt, const F& use) const {
        if (!on_host()) return use(columns());
        const DealtMatrix<T> copy(rows_, dealt);
        copy_columns(columns(), copy.view());
        return use(copy.view());
    }
    /// Calls use(elements) with the whole matrix in the first GPU's memory: its own, or a temporary copy.
    template <class F>
    auto on_first_gpu(const F& use) const {
        if (!on_host() && !is_dealt_) return use(data());
        const DealtMatrix<T> copy(rows_, whole<T>(nullptr, rows_, cols_).columns);
        copy_columns(columns(), copy.view());
        return use(copy.view().parts.front());
    }

  private:
    struct FreePinned {
        void operator()(void* memory) const { free_pinned(memory); }
    };
    basalt::Index rows_, cols_;
    bool is_dealt_;
    std::unique_ptr<void, FreePinned> host_;
    std::unique_ptr<DealtMatrix<T>> gpus_;
};

/// Submit the conversion between the user's matrix and tiles. All GPUs convert from and to the host, cores only a
/// triangle.
template <class T>
void load(basalt::Matrix<T>& a, const UserMatrix<T>& user) {
    if (user.is_dealt()) return load_dealt(a, user.columns());
    a.load(user.view(), user.on_host() ? basalt::Place::any() : basalt::Place::gpu(0));
}
template <class T>
void store(const basalt::Matrix<T>& a, const UserMatrix<T>& user) {
    if (user.is_dealt()) return store_dealt(a, user.columns());
    a.store(user.view(), user.on_host() ? basalt::Place::any() : basalt::Place::gpu(0));
}
template <class T>
void load_triangle(basalt::Matrix<T>& a, const UserMatrix<T>& user) {
    if (user.is_dealt()) return load_dealt_triangle(a, user.columns());
    a.load_triangle(basalt::Triangle::lower, user.view(),
                    user.on_host() ? basalt::Place::any() : basalt::Place::gpu(0));
}
template <class T>
void store_triangle(const basalt::Matrix<T>& a, const UserMatrix<T>& user) {
    if (user.is_dealt()) return store_dealt_triangle(a, user.columns());
    a.store_triangle(basalt::Triangle::lower, user.view(),
                     user.on_host() ? basalt::Place::any() : basalt::Place::gpu(0));
}

/// Fills the user's matrix from a generator through the tiles; waits.
template <class T>
void generate(basalt::Matrix<T>& a, const UserMatrix<T>& user, const char* generator, std::uint64_t seed) {
    const std::shared_ptr<const basalt::Generator<T>> made =
        basalt::make_generator<T>(generator, a.rows(), a.cols(), seed);
    if (user.is_dealt()) {
        a.fill(made, basalt::Place::any());
        store_dealt(a, user.columns());
    } else {
        const basalt::Place place = user.on_host() ? basalt::Place::cpu() : basalt::Place::gpu(0);
        a.fill(made, place);
        a.store(user.view(), place);
    }
    a.runtime().wait();
}

}  // namespace bench
