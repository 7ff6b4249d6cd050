#pragma once

#include <cstdint>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

namespace basalt {

/// Root of everything Basalt throws on its own behalf, except UsageError.
class Error : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// An argument or a call that the public API does not allow. what() names it and the allowed values.
class UsageError : public std::invalid_argument {
  public:
    using std::invalid_argument::invalid_argument;
};

/// A task threw. The first such error of a graph is rethrown by wait().
///
/// The original exception is cause(); std::rethrow_exception(error.cause()) brings it back.
class TaskError : public Error {
  public:
    TaskError(const std::string& what, std::string task, std::string data, std::string device, std::exception_ptr cause)
        : Error(what),
          task_(std::move(task)),
          data_(std::move(data)),
          device_(std::move(device)),
          cause_(std::move(cause)) {}

    /// Name and tile indices of the task, e.g. "panel(3)".
    const std::string& task() const { return task_; }
    /// What the task accessed, e.g. "readwrite A[:,3] rows 768..4000".
    const std::string& data() const { return data_; }
    /// Where it ran, e.g. "cpu worker 1".
    const std::string& device() const { return device_; }
    const std::exception_ptr& cause() const { return cause_; }

  private:
    std::string task_;
    std::string data_;
    std::string device_;
    std::exception_ptr cause_;
};

/// Data have no valid contents: the task that should have written them failed or was cancelled, or a GPU was lost that
/// held the only copy. what() names the data and the reason. A task that overwrites them makes them valid again.
class DataError : public Error {
  public:
    using Error::Error;
};

/// A task did not run, because a task that it follows (see after()) failed or was dropped. what() names the reason.
class PredecessorError : public Error {
  public:
    using Error::Error;
};

/// What a DeviceError leaves behind.
enum class DeviceFault : std::uint8_t {
    call_failed,    ///< the device goes on
    device_lost,    ///< for the rest of the process
    out_of_memory,  ///< data do not fit; the device goes on
};

/// A device failed: out of memory, a failed copy, a fault inside a kernel.
///
/// what() names the call, where it was made and the device.
class DeviceError : public Error {
  public:
    DeviceError(const std::string& what, int device, DeviceFault fault = DeviceFault::call_failed)
        : Error(what), device_(device), fault_(fault) {}

    /// The runtime's number of the GPU, from 0.
    int device() const { return device_; }
    /// The device is lost for the rest of the process. The CPU cores go on, and so do other devices, as far as the
    /// driver lets them: after a fault inside a CUDA kernel it fails all GPUs of the process, and each is lost.
    bool sticky() const { return fault_ == DeviceFault::device_lost; }
    bool out_of_memory() const { return fault_ == DeviceFault::out_of_memory; }
    DeviceFault fault() const { return fault_; }

  private:
    int device_;
    DeviceFault fault_;
};

/// The graph was cancelled, by Runtime::cancel() or, inside a gang, by a member that threw.
class Cancelled : public Error {
  public:
    using Error::Error;
};

}  // namespace basalt
