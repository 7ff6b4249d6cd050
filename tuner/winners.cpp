#include "tuner/winners.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "base/tuning_fields.hpp"

namespace basalt::tuner {

namespace {

bool is_of_library(const Finding& finding, const GpuLimits& limits) {
    const std::vector<Candidate> own = library_candidates(finding.problem, limits);
    return std::find(own.begin(), own.end(), finding.candidate) != own.end();
}

/// The list of a problem's panels; nullptr where the kernels have none.
std::vector<GpuBatchWidth>* list_of(const Problem& problem, GpuTuning& entry) {
    GpuTuning::Batch& batch = entry.batch;
    GpuBatchWidths& lists = problem.precision == Precision::single ? batch.single_precision : batch.double_precision;
    if (problem.routine == Routine::cholesky && problem.job == BatchJob::factor_solve) return &lists.cholesky_both;
    if (problem.job != BatchJob::factor) return nullptr;
    if (problem.routine == Routine::cholesky) return &lists.cholesky_factor;
    return problem.routine == Routine::lu ? &lists.lu_factor : &lists.qr_factor;
}

/// From widths by measured orders, at least one, to ranges around them.
std::vector<GpuBatchWidth> ranges(const std::map<int, int>& widths) {
    std::vector<GpuBatchWidth> list;
    for (auto own = widths.begin(); own != widths.end(); ++own) {
        const auto next = std::next(own);
        if (next == widths.end()) {
            list.push_back({any_size, own->second});
        } else if (next->second != own->second) {
            list.push_back({(own->first + next->first) / 2, own->second});
        }
    }
    return list;
}

/// A visitor (base/tuning_fields.hpp) that makes JSON of widths.
class WidthWriter {
  public:
    JsonRecord object = JsonRecord::object();

    template <class Numbers>
    void choice(std::string_view name, const int& value, const Numbers& /*allowed*/) {
        object[std::string(name)] = value;
    }
    void size(std::string_view name, const Index& value) {
        object[std::string(name)] = value == any_size ? JsonRecord("any") : JsonRecord(value);
    }
    template <class F>
    void group(std::string_view name, const F& visit) {
        WidthWriter inner;
        visit(inner);
        object[std::string(name)] = std::move(inner.object);
    }
    template <class Element, class F>
    void list(std::string_view name, const std::vector<Element>& elements, ListLength /*length*/, const F& visit) {
        JsonRecord array = JsonRecord::array();
        for (const Element& element : elements) {
            WidthWriter inner;
            visit(inner, element);
            array.push_back(std::move(inner.object));
        }
        object[std::string(name)] = std::move(array);
    }
};

}  // namespace

std::vector<Winner> winners(const JournalContents& journal) {
    const GpuLimits limits = limits_of(journal.head.architecture).value_or(GpuLimits());
    std::vector<Winner> all;
    std::map<std::string, std::vector<const Finding*>> timed;
    for (const auto& [key, i] : journal.index) {
        const Finding& finding = journal.findings[i];
        if (finding.outcome == Outcome::timed && finding.candidate.arithmetic.ieee()) {
            timed[name_of(finding.problem)].push_back(&finding);
        }
    }
    for (const Finding& finding : journal.findings) {
        const auto found = timed.find(name_of(finding.problem));
        if (found == timed.end()) continue;
        std::vector<const Finding*> own = std::move(found->second);
        timed.erase(found);
        std::sort(own.begin(), own.end(), [](const Finding* a, const Finding* b) { return a->seconds < b->seconds; });
        Winner winner{.best = *own.front(), .close = {}, .of_library = {}};
        for (const Finding* const one : own) {
            if (one->seconds <= close_factor * winner.best.seconds) winner.close.push_back(*one);
            if (!winner.of_library && is_of_library(*one, limits)) winner.of_library = *one;
        }
        all.push_back(std::move(winner));
    }
    return all;
}

void set_widths(const std::vector<Winner>& winners, GpuTuning& entry) {
    std::map<std::vector<GpuBatchWidth>*, std::map<int, int>> measured;
    for (const Winner& winner : winners) {
        std::vector<GpuBatchWidth>* const list = list_of(winner.best.problem, entry);
        // matrices that shared memory does not hold have panels of one width, whatever the list says
        const bool chosen = winner.of_library && winner.best.problem.n <= 256 &&
                            (winner.of_library->candidate.residence == Residence::shared ||
                             (winner.best.problem.routine == Routine::qr &&
                              winner.of_library->candidate.residence == Residence::global));
        if (list != nullptr && chosen) measured[list][winner.best.problem.n] = winner.of_library->candidate.width;
    }
    for (const auto& [list, widths] : measured) *list = ranges(widths);
}

std::string width_file(const GpuTuning& entry) {
    WidthWriter writer;
    visit_batch_widths(writer, "single_precision", entry.batch.single_precision);
    visit_batch_widths(writer, "double_precision", entry.batch.double_precision);
    JsonRecord json;
    json["gpu"][entry.architecture]["batch"] = std::move(writer.object);
    return json.dump(2) + '\n';
}

}  // namespace basalt::tuner
