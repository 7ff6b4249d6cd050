#pragma once

#include "basalt/access.hpp"
#include "basalt/array.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// A datum of no bytes, which orders tasks by accesses: write(t), read(t), readwrite(t) and commute(t) among the
/// arguments of submit(). Tasks that read it run side by side, behind the task that wrote it. For what tasks share and
/// the runtime does not manage, such as a file or a data structure of the program.
///
/// A token is used like an Array, but kernels get no view of it, and nothing is allocated, renamed or copied for it,
/// neither on the host nor on GPUs. A task that writes a token and fails leaves it without contents: tasks that read it
/// do not run until a task has written it with write().
///
/// Movable, not copyable. Destruction waits for the tasks that use it. It may outlive its runtime.
class Token {
  public:
    Token() = default;
    /// `name`, which is copied, appears in errors; nullptr: "token#number".
    explicit Token(Runtime& runtime, const char* name = nullptr)
        : handle_(detail::create_datum(runtime, nullptr, 0, 1, 1, detail::Storage::none,
                                       name != nullptr ? name : detail::default_name("token"))) {}

    TokenAccess access(AccessMode mode) const { return {{handle_.get(), 0, 1, 0, 1, handle_.generation(), mode}}; }

  private:
    detail::DatumHandle handle_;
};

inline Token Runtime::token(const char* name) { return Token(*this, name); }

}  // namespace basalt
