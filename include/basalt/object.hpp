#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "basalt/access.hpp"
#include "basalt/datum_handle.hpp"
#include "basalt/runtime.hpp"

namespace basalt {

/// A value of a type of the program's own, such as a std::map or an open file, that tasks access as they access arrays:
/// one datum. The kernel gets a const T& for read(object), and a T& for write(), readwrite() and commute(). T needs
/// neither be copyable nor movable.
///
///     basalt::Object<std::map<std::string, int>> words(rt);
///     rt.submit({}, read(text), commute(words), count_words);   // (View<const char>, std::map<std::string, int>&)
///
/// The value stays where it is, in the host's memory. Tasks that access it run on cores and have no cuda kernel.
///
/// Movable, not copyable. Destruction waits for the tasks that use the object; inside one of these it does not wait,
/// and the value is destroyed behind the last of them. An object may outlive its runtime, whose end destroys the value.
/// Thread-safe like Runtime::submit.
template <class T>
class Object {
    static_assert(std::is_object_v<T> && !std::is_const_v<T> && !std::is_array_v<T>);

  public:
    using Value = T;

    Object() = default;
    /// Makes the value from `arguments`. Its name in errors is "object#number". Throws what T's constructor throws,
    /// std::bad_alloc and UsageError.
    template <class... Arguments>
    requires std::is_constructible_v<T, Arguments...>
    explicit Object(Runtime& runtime, Arguments&&... arguments)
        : Object(Named{detail::default_name("object")}, runtime, std::forward<Arguments>(arguments)...) {}
    /// The same with a name, which is copied.
    template <class... Arguments>
    static Object named(const char* name, Runtime& runtime, Arguments&&... arguments) {
        return Object(Named{name}, runtime, std::forward<Arguments>(arguments)...);
    }

    /// Waits for the tasks that use the object and returns its value. Throws DataError if a task that should have
    /// written it failed or was cancelled, and UsageError after the end of the runtime and inside a task that did not
    /// make the object.
    T& host_value() const { return *static_cast<T*>(detail::wait_datum(handle_)); }
    /// The same for a program that assigns all of the value: failed tasks that should have written it are made good.
    T& host_overwrite() const { return *static_cast<T*>(detail::wait_datum_to_overwrite(handle_)); }

    /// Waits for the tasks that use the object, and destroys the value.
    void release() { handle_.reset(); }

    ObjectAccess<T> access(AccessMode mode) const { return {{handle_.get(), 0, 1, 0, 1, handle_.generation(), mode}}; }

  private:
    struct Named {
        std::string name;
    };
    template <class... Arguments>
    Object(const Named& named, Runtime& runtime, Arguments&&... arguments)
        : handle_(
              detail::create_object(runtime, std::make_shared<T>(std::forward<Arguments>(arguments)...), named.name)) {}

    detail::DatumHandle handle_;
};

}  // namespace basalt
