// Graphs and recordings.
#include "basalt/graph.hpp"
#include "basalt/recording.hpp"
#include "capi/objects.hpp"
#include "capi/tasks.hpp"

namespace capi = basalt::capi;
using capi::guarded;
using capi::required;

basalt_status basalt_graph_create(basalt_runtime* runtime, int priority, basalt_graph** graph) {
    return guarded(__func__, [&] {
        auto& made = required(graph, "graph");
        made = new basalt_graph(required(runtime, "runtime").runtime, priority);
    });
}
void basalt_graph_destroy(basalt_graph* graph) { delete graph; }

basalt_status basalt_graph_submit(basalt_graph* graph, const basalt_task* task, basalt_handle* handle) {
    return guarded(__func__, [&] {
        const basalt::SubmitTo here(required(graph, "graph").graph);
        capi::keep_handle(capi::submit_task(here.runtime(), task), handle);
    });
}
basalt_status basalt_graph_enter(basalt_graph* graph, void (*function)(void* user), void* user) {
    return guarded(__func__, [&] {
        required(function, "function");
        const basalt::SubmitTo here(required(graph, "graph").graph);
        function(user);
    });
}
basalt_status basalt_graph_wait(basalt_graph* graph) {
    return guarded(__func__, [&] { required(graph, "graph").graph.wait(); });
}
basalt_status basalt_graph_wait_for(basalt_graph* graph, double seconds) {
    return guarded(__func__, [&] {
        const auto limit = capi::limit_of(seconds);
        return required(graph, "graph").graph.wait_for(limit) ? BASALT_OK : BASALT_TIMED_OUT;
    });
}
basalt_status basalt_graph_cancel(basalt_graph* graph) {
    return guarded(__func__, [&] { required(graph, "graph").graph.cancel(); });
}
bool basalt_graph_cancelled(const basalt_graph* graph) {
    bool cancelled = false;
    guarded(__func__, [&] { cancelled = required(graph, "graph").graph.cancelled(); });
    return cancelled;
}

basalt_status basalt_recording_create(basalt_runtime* runtime, void (*submits)(void* user), void* user,
                                      basalt_recording** recording) {
    return guarded(__func__, [&] {
        auto& made = required(recording, "recording");
        required(submits, "submits");
        made = new basalt_recording{basalt::Recording(required(runtime, "runtime").runtime, [&] { submits(user); })};
    });
}
void basalt_recording_destroy(basalt_recording* recording) { delete recording; }

basalt_status basalt_recording_run(basalt_recording* recording, const basalt_graph* graph) {
    return guarded(__func__, [&] {
        basalt::Recording& steps = required(recording, "recording").recording;
        if (graph != nullptr) return steps.run(graph->graph);
        steps.run();
    });
}
basalt_status basalt_recording_bind(basalt_recording* recording, const basalt_array* recorded,
                                    const basalt_array* other) {
    return guarded(__func__, [&] {
        const auto* from = std::get_if<capi::Line>(&required(recorded, "recorded").data);
        const auto* to = std::get_if<capi::Line>(&required(other, "other").data);
        if (from == nullptr || to == nullptr) {
            throw basalt::UsageError("recorded and other are arrays of one dimension; blocks and others are not");
        }
        required(recording, "recording").recording.bind(*from, *to);
    });
}
basalt_status basalt_recording_size(const basalt_recording* recording, size_t* size) {
    return guarded(__func__, [&] { required(size, "size") = required(recording, "recording").recording.size(); });
}
