#include "runtime/graph/datum_pool.hpp"

#include <mutex>

namespace basalt::detail {

DatumPool& DatumPool::of_process() {
    static auto* const pool = new DatumPool;  // never destroyed: data may be static objects of the program
    return *pool;
}

void DatumPool::grow() {
    free_.reserve((chunks_.size() + 1) * chunk_data);  // so that give_back() never allocates
    Datum* data = chunks_.emplace_back(std::make_unique<Datum[]>(chunk_data)).get();
    for (std::size_t i = chunk_data; i > 0; --i) free_.push_back(&data[i - 1]);
}

Datum& DatumPool::take(const TaskGraph& graph, std::string_view name) {
    const std::lock_guard guard(lock_);
    if (free_.empty()) grow();
    Datum& datum = *free_.back();
    datum.name = name;
    free_.pop_back();
    datum.graph = &graph;
    // relaxed: who gets to know the datum gets to know the generation with it
    datum.generation.fetch_add(1, std::memory_order_relaxed);
    return datum;
}

void DatumPool::give_back(Datum& datum) noexcept {
    if (datum.partitions) datum.partitions->for_each([this](Datum& block) { give_back(block); });
    if (datum.is_registered()) datum.end_registration();
    datum.forget_contents();  // frees memory: not under the lock
    const std::lock_guard guard(lock_);
    datum.graph = nullptr;
    free_.push_back(&datum);
}

void DatumPool::take_back(Version& version) {
    Datum& datum = *version.datum;
    {
        const std::lock_guard guard(datum.retired_lock);
        datum.unused.push_back(version);
        if (--datum.retired_versions > 0 || !datum.given_up) return;
    }
    give_back(datum);
}

void DatumPool::give_up(Datum& datum) {
    {
        const std::lock_guard guard(datum.retired_lock);
        datum.given_up = true;
        if (datum.retired_versions > 0) return;
    }
    give_back(datum);
}

std::vector<Datum*> DatumPool::of(const TaskGraph& graph) {
    std::vector<Datum*> found;
    const std::lock_guard guard(lock_);
    for (const auto& chunk : chunks_) {
        for (std::size_t i = 0; i < chunk_data; ++i) {
            if (chunk[i].graph == &graph) found.push_back(&chunk[i]);
        }
    }
    return found;
}

void DatumPool::leave_all() {
    const std::lock_guard guard(lock_);
    for (const auto& chunk : chunks_) {
        for (std::size_t i = 0; i < chunk_data; ++i) {
            Datum& datum = chunk[i];
            if (datum.graph == nullptr) continue;
            if (datum.is_registered()) datum.end_registration();
            datum.left = true;
        }
    }
}

bool DatumPool::was_left(const Datum& datum) const {
    const std::lock_guard guard(lock_);
    return datum.left;
}

std::string DatumPool::name_of(const Datum& datum, std::uint32_t generation) {
    const std::lock_guard guard(lock_);
    const std::uint32_t now = datum.generation.load(std::memory_order_relaxed);
    return now == generation || now == generation + 1 ? datum.name : "a released array";
}

std::string DatumPool::name_of_former(const Datum& datum, std::uint32_t generation) {
    const std::lock_guard guard(lock_);
    return datum.generation.load(std::memory_order_relaxed) == generation + 1 ? datum.name : std::string();
}

}  // namespace basalt::detail
