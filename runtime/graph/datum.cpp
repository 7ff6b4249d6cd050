#include "runtime/graph/datum.hpp"

namespace basalt::detail {

void Datum::forget_contents() noexcept {
    // First: a thread that evicts may still find the residency, and then reads who used the version. Behind this it is
    // in no list of a device any more.
    first.residency.reset();
    first = Version();
    std::vector<std::unique_ptr<Version>>().swap(further);
    object.reset();
    former = unused = {};
    in_use_by = {};
    current = &first;
    rows = 0;
    cols = 0;
    renameable = scratch = borrowed = shares_memory = by_columns = is_current = may_have_unused = false;
    ld = first_row = first_col = 0;
    whole = nullptr;
    partitions.reset();
    home_order = 0;
    element_size = 0;
    retired_versions = 0;
    given_up = false;
}

std::string Datum::text_of(const ArrayPart& part) const {
    if (is_token() || object != nullptr) return "";
    const auto interval = [](Index begin, Index end) {
        return " [" + std::to_string(begin) + ", " + std::to_string(end) + ")";
    };
    const std::string its_rows = interval(part.row_begin, part.row_end);
    const std::string its_cols = interval(part.col_begin, part.col_end);
    std::string text = " rows" + (by_columns ? its_cols : its_rows);
    if (cols > 1 || by_columns) text += " columns" + (by_columns ? its_rows : its_cols);
    return text;
}

std::string Datum::label() const {
    if (whole == nullptr) return "'" + name + "'";
    return "'" + name + "' (" + whole->datum->text_of(part_of_whole()).substr(1) + ")";
}

}  // namespace basalt::detail
