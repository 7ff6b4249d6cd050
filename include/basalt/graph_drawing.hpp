#pragma once

#include <cstdint>
#include <string>

namespace basalt {

/// Which tasks a drawing of the graph shows, in Graphviz's language DOT: Config::drawing.
///
/// A box is a task of the user's or of a library's, with its name, tile and number. An arrow is a hazard between two of
/// them in program order, named RaW (read after write), WaR or WaW, and the data; it is there even if the first task
/// had completed before the second one was submitted, or if the runtime gave the second one fresh memory. A dashed line
/// without a head joins tasks that commute, or reduce together. A dotted arrow leads from a task to the tasks inside
/// it, and a bold one from a task to one that was submitted after() it. The runtime's own tasks, such as copies, do not
/// appear, and neither do tasks of a replayed Recording.
struct GraphDrawing {
    /// Written when the runtime ends, if it is not left behind by exit(). Empty: no file; see Runtime::drawing().
    std::string file{};
    /// Tasks are numbered from 0 in the order of their submission. Shown are those from `first` on, `count` at most.
    std::uint64_t first = 0;
    std::uint64_t count = 1000;
};

}  // namespace basalt
