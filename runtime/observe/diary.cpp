#include "runtime/observe/diary.hpp"

#include <algorithm>
#include <mutex>
#include <string>

#include "runtime/graph/datum_pool.hpp"

namespace basalt::detail {

namespace {

std::string datum_name(const Diary::Use& use) { return DatumPool::of_process().name_of(*use.datum, use.generation); }

}  // namespace

std::string Diary::Entry::label() const {
    const std::string indices = tile.text();
    return indices.empty() ? name : std::string(name) + "(" + indices + ")";
}

std::string Diary::Entry::uses_text() const {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(accesses, uses.size()); ++i) {
        text += std::string(i == 0 ? "" : ", ") + mode_name(uses[i].mode) + " " + datum_name(uses[i]);
    }
    return accesses > uses.size() ? text + ", ..." : text;
}

std::string Diary::Entry::common_data(const Entry& other) const {
    std::string text;
    for (std::size_t i = 0; i < std::min<std::size_t>(accesses, uses.size()); ++i) {
        const auto end = other.uses.begin() + std::min<std::ptrdiff_t>(other.accesses, std::ssize(other.uses));
        const bool common = std::any_of(other.uses.begin(), end, [&](const Use& use) {
            return use.datum == uses[i].datum && use.generation == uses[i].generation;
        });
        if (common) text += (text.empty() ? "" : ", ") + datum_name(uses[i]);
    }
    return text;
}

Diary::Diary() : chunks_(std::make_unique<std::array<std::atomic<Chunk*>, chunks>>()) {}

Diary::~Diary() {
    for (const auto& chunk : *chunks_) delete chunk.load(std::memory_order_relaxed);
}

Diary::Chunk& Diary::chunk_of(std::uint32_t slot) {
    std::atomic<Chunk*>& place = (*chunks_)[slot / TaskPool::chunk_slots];
    Chunk* chunk = place.load(std::memory_order_acquire);
    if (chunk != nullptr) return *chunk;
    auto fresh = std::make_unique<Chunk>();
    // acq_rel: who finds the chunk finds it complete; of two that make it, one wins
    if (place.compare_exchange_strong(chunk, fresh.get(), std::memory_order_acq_rel)) return *fresh.release();
    return *chunk;
}

void Diary::note(const Task& task) {
    Chunk& chunk = chunk_of(task.slot);
    // relaxed: numbers only sort messages
    const std::uint64_t number = next_number_.fetch_add(1, std::memory_order_relaxed);
    const BoundAccess* access = task.access_begin();
    const std::lock_guard guard(chunk.lock);
    Entry& entry = chunk.entries[task.slot % TaskPool::chunk_slots];
    entry.task = task.ref();
    entry.number = number;
    entry.name = task.name;
    entry.tile = task.tile;
    entry.accesses = task.access_count;
    for (std::size_t i = 0; i < std::min<std::size_t>(task.access_count, entry.uses.size()); ++i) {
        const Datum* datum = access[i].version->datum;
        entry.uses[i] = {datum, datum->generation.load(std::memory_order_relaxed), access[i].mode};
    }
}

std::optional<Diary::Entry> Diary::find(TaskRef task) const {
    const Chunk* chunk = (*chunks_)[task.slot / TaskPool::chunk_slots].load(std::memory_order_acquire);
    if (chunk == nullptr) return std::nullopt;
    const std::lock_guard guard(chunk->lock);
    const Entry& entry = chunk->entries[task.slot % TaskPool::chunk_slots];
    return entry.task == task ? std::optional(entry) : std::nullopt;
}

std::vector<Diary::Entry> Diary::all() const {
    std::vector<Entry> found;
    for (const auto& place : *chunks_) {
        const Chunk* chunk = place.load(std::memory_order_acquire);
        if (chunk == nullptr) continue;
        const std::lock_guard guard(chunk->lock);
        std::copy_if(chunk->entries.begin(), chunk->entries.end(), std::back_inserter(found),
                     [](const Entry& entry) { return entry.number != 0; });
    }
    std::sort(found.begin(), found.end(), [](const Entry& a, const Entry& b) { return a.number < b.number; });
    return found;
}

}  // namespace basalt::detail
