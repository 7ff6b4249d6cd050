#include "kernels/permutation_plan.hpp"

#include "kernels/cpu/row_swap.hpp"

namespace basalt {

PermutationPlan PermutationPlan::at(const Index* numbers) const {
    PermutationPlan plan = *this;
    plan.rows = numbers;
    plan.begins = plan.rows + moved;
    plan.next_slot = plan.begins + chunks + 1;
    plan.saved_rows = plan.next_slot + chunks;
    return plan;
}

StoredPermutationPlan::StoredPermutationPlan(const RowPermutation& permutation) {
    const std::vector<Index>& rows = permutation.rows();
    std::vector<Index> begins, next_slot, saved_rows;
    Index begin = 0;
    for (const Index end : permutation.cycle_ends()) {
        const Index first_slot = std::ssize(saved_rows);
        const bool whole = end - begin <= PermutationPlan::chunk_rows;
        for (Index i = begin; i < end; i += PermutationPlan::chunk_rows) {
            begins.push_back(i);
            if (!whole) saved_rows.push_back(rows[static_cast<std::size_t>(i)]);
            const bool last = end - i <= PermutationPlan::chunk_rows;
            next_slot.push_back(whole ? -1 : last ? first_slot : std::ssize(saved_rows));
        }
        begin = end;
    }
    begins.push_back(begin);
    shape_.moved = permutation.moved();
    shape_.chunks = std::ssize(next_slot);
    shape_.slots = std::ssize(saved_rows);
    numbers_.reserve(static_cast<std::size_t>(shape_.size()));
    const auto append = [this](const std::vector<Index>& part) {
        numbers_.insert(numbers_.end(), part.begin(), part.end());
    };
    append(rows);
    append(begins);
    append(next_slot);
    append(saved_rows);
}

}  // namespace basalt
