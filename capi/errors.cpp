#include "capi/errors.hpp"

#include <new>
#include <stdexcept>

namespace basalt::capi {

namespace {

constexpr const char* no_memory_for_message = "out of memory, also for the text of this error";

/// The calling thread's last error. A fixed text where there was no memory for its own.
struct LastError {
    std::string text;
    bool without_text = false;
};
thread_local LastError last_error;

basalt_status keep_message(basalt_status status, const char* function, const char* what) noexcept {
    try {
        last_error.text = std::string(function) + "(): " + what;
        last_error.without_text = false;
    } catch (...) {
        last_error.without_text = true;
    }
    return status;
}

}  // namespace

basalt_status status_of_exception(const char* function) noexcept {
    try {
        throw;
    } catch (const UsageError& error) {
        return keep_message(BASALT_INVALID_ARGUMENT, function, error.what());
    } catch (const TaskError& error) {
        return keep_message(BASALT_TASK_FAILED, function, error.what());
    } catch (const DataError& error) {
        return keep_message(BASALT_NO_CONTENTS, function, error.what());
    } catch (const PredecessorError& error) {
        return keep_message(BASALT_PREDECESSOR_FAILED, function, error.what());
    } catch (const DeviceError& error) {
        return keep_message(BASALT_DEVICE_FAILED, function, error.what());
    } catch (const Cancelled& error) {
        return keep_message(BASALT_CANCELLED, function, error.what());
    } catch (const std::bad_alloc&) {
        return keep_message(BASALT_OUT_OF_MEMORY, function, "out of memory");
    } catch (const std::length_error& error) {
        return keep_message(BASALT_OUT_OF_MEMORY, function, error.what());
    } catch (const std::exception& error) {
        return keep_message(BASALT_FAILED, function, error.what());
    } catch (...) {
        return keep_message(BASALT_FAILED, function, "an exception of an unknown type");
    }
}

void require_range(const char* name, long long value, long long low, long long high) {
    if (low <= value && value <= high) return;
    throw UsageError(std::string(name) + " is " + std::to_string(value) + "; allowed is " + std::to_string(low) +
                     " to " + std::to_string(high));
}

}  // namespace basalt::capi

const char* basalt_error_message() {
    using basalt::capi::last_error;
    return last_error.without_text ? basalt::capi::no_memory_for_message : last_error.text.c_str();
}

const char* basalt_status_name(basalt_status status) {
    switch (status) {
        case BASALT_OK: return "ok";
        case BASALT_INVALID_ARGUMENT: return "invalid argument";
        case BASALT_OUT_OF_MEMORY: return "out of memory";
        case BASALT_TASK_FAILED: return "task failed";
        case BASALT_NO_CONTENTS: return "no contents";
        case BASALT_PREDECESSOR_FAILED: return "predecessor failed";
        case BASALT_DEVICE_FAILED: return "device failed";
        case BASALT_CANCELLED: return "cancelled";
        case BASALT_TIMED_OUT: return "timed out";
        case BASALT_FAILED: return "failed";
    }
    return "unknown status";
}
