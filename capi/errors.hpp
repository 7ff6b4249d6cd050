#pragma once

#include <basalt/basalt.h>

#include <string>
#include <type_traits>
#include <utility>

#include "basalt/error.hpp"

namespace basalt::capi {

/// Keeps the text of the exception that is being handled for basalt_error_message(), and returns its status.
basalt_status status_of_exception(const char* function) noexcept;

/// The border of every function: runs `body`, from which no exception gets out. Its result is BASALT_OK or a status
/// that body() returns.
template <class F>
basalt_status guarded(const char* function, F&& body) noexcept {
    try {
        if constexpr (std::is_void_v<decltype(body())>) {
            std::forward<F>(body)();
            return BASALT_OK;
        } else {
            return std::forward<F>(body)();
        }
    } catch (...) {
        return status_of_exception(function);
    }
}

/// The object behind a pointer argument. Throws UsageError, which names the argument, for NULL.
template <class T>
T& required(T* argument, const char* name) {
    if (argument == nullptr) throw UsageError(std::string(name) + " is NULL");
    return *argument;
}

/// Throws UsageError unless low <= value <= high.
void require_range(const char* name, long long value, long long low, long long high);

}  // namespace basalt::capi
