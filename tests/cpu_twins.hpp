#pragma once

#include <utility>
#include <vector>

#include "kernels/cpu/convert.hpp"
#include "kernels/cpu/copy.hpp"
#include "kernels/cpu/generate.hpp"
#include "kernels/cpu/leading_update.hpp"
#include "kernels/cpu/norms.hpp"
#include "kernels/cpu/panel_alone.hpp"
#include "kernels/cpu/row_exchange.hpp"
#include "kernels/cpu/split_product.hpp"
#include "kernels/cpu/triangle_inverse.hpp"
#include "kernels/cpu/triangle_solve.hpp"
#include "kernels/cpu/update.hpp"
#include "kernels/cpu/vector_product.hpp"
#include "kernels/cuda/panel.hpp"

namespace basalt_tests {

/// Where the cases of kernel_cases/ run: the CPU twins, in host memory.
struct CpuTwins {
    template <class T>
    class Memory {
      public:
        Memory(CpuTwins&, std::vector<T> values) : values_(std::move(values)) {}
        T* data() { return values_.data(); }
        std::vector<T> read() const { return values_; }

      private:
        std::vector<T> values_;
    };

    template <class T, class... A>
    void copy_elements(const A&... a) {
        basalt::cpu_kernels::copy_elements<T>(a...);
    }
    template <class T, class... A>
    void copy_tile_columns(const A&... a) {
        basalt::cpu_kernels::copy_tile_columns<T>(a...);
    }
    template <class T, class... A>
    void pack_tile_columns(const A&... a) {
        basalt::cpu_kernels::pack_tile_columns<T>(a...);
    }
    template <class T, class... A>
    void unpack_tile_columns(const A&... a) {
        basalt::cpu_kernels::unpack_tile_columns<T>(a...);
    }
    template <class T, class... A>
    void pack_columns(const A&... a) {
        basalt::cpu_kernels::pack_columns<T>(a...);
    }
    template <class T, class... A>
    void unpack_window(const A&... a) {
        basalt::cpu_kernels::unpack_window<T>(a...);
    }
    template <class T, class... A>
    void pack_in_place(const A&... a) {
        basalt::cpu_kernels::pack_in_place<T>(a...);
    }
    template <class T, class... A>
    void unpack_in_place(const A&... a) {
        basalt::cpu_kernels::unpack_in_place<T>(a...);
    }
    template <class T, class... A>
    void reorder_tiles(const A&... a) {
        basalt::cpu_kernels::reorder_tiles<T>(a...);
    }
    template <class T, class... A>
    void generate_tile_columns(const A&... a) {
        basalt::cpu_kernels::generate_tile_columns<T>(a...);
    }
    template <class T, class... A>
    void max_norm(const A&... a) {
        basalt::cpu_kernels::max_norm<T>(a...);
    }
    template <class T, class... A>
    void absolute_column_sums(const A&... a) {
        basalt::cpu_kernels::absolute_column_sums<T>(a...);
    }
    template <class T, class... A>
    void absolute_row_sums(const A&... a) {
        basalt::cpu_kernels::absolute_row_sums<T>(a...);
    }
    template <class T, class... A>
    void square_sums(const A&... a) {
        basalt::cpu_kernels::square_sums<T>(a...);
    }
    template <class... A>
    void find_row_moves(const A&... a) {
        basalt::cpu_kernels::find_row_moves(a...);
    }
    template <class T, class... A>
    void exchange_rows(const A&... a) {
        basalt::cpu_kernels::exchange_rows<T>(a...);
    }
    template <class T>
    static bool leading_update_fits(basalt::View<const T>, basalt::View<T>) {
        return true;
    }
    template <class T, class... A>
    void update_leading(const A&... a) {
        basalt::cpu_kernels::update_leading<T>(a...);
    }
    template <class T, class... A>
    void invert_unit_lower(const A&... a) {
        basalt::cpu_kernels::invert_unit_lower<T>(a...);
    }
    void update_by_pieces(basalt::View<const float> l, basalt::TileColumns<const float> u, basalt::TileColumns<float> c,
                          void*) {
        basalt::cpu_kernels::update_by_pieces(l, u, c);
    }
    template <class T, class... A>
    void solve_by_inverse(const A&... a) {
        basalt::cpu_kernels::solve_by_inverse<T>(a...);
    }
    template <class T, class... A>
    void solve_by_inverses(const A&... a) {
        basalt::cpu_kernels::solve_by_inverses<T>(a...);
    }
    template <class T, class... A>
    void solve_by_substitution(const A&... a) {
        basalt::cpu_kernels::solve_by_substitution<T>(a...);
    }
    template <class T, class... A>
    void update_trailing(const A&... a) {
        basalt::cpu_kernels::update_trailing<T>(a...);
    }
    template <class T, class V, class... A>
    void subtract_product(const A&... a) {
        basalt::cpu_kernels::subtract_product<T, V>(a...);
    }
    template <class T, class... A>
    void solve_triangle(const A&... a) {
        basalt::cpu_kernels::solve_triangle<T>(a...);
    }
    template <class T, class... A>
    void subtract_from_rows(const A&... a) {
        basalt::cpu_kernels::subtract_from_rows<T>(a...);
    }
    template <class T>
    void panel_factor(basalt::View<T> panel, basalt::Index* pivots, basalt::Index* info, void*,
                      basalt::cuda_kernels::PanelPlan, basalt::PanelLog log = {}, basalt::RowMoves moves = {}) {
        basalt::cpu_kernels::panel_factor<T>(panel, pivots, info, log, moves);
    }
    template <class T>
    bool panel_fits(basalt::Index, basalt::cuda_kernels::PanelPlan) const {
        return true;
    }
    template <class... A>
    void largest(const A&... a) {
        basalt::cpu_kernels::largest(a...);
    }
};

}  // namespace basalt_tests
