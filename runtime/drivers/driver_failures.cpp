// Tasks that fail on a GPU, and GPUs that are lost.
#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "runtime/drivers/driver.hpp"
#include "runtime/execution/task_errors.hpp"

namespace basalt::detail {

namespace {

/// Tasks that compute, if there are any: copies rarely fault.
std::vector<Suspect> most_likely(std::vector<Suspect> suspects) {
    const auto is_copy = [](const Suspect& suspect) { return !computes(suspect.stream); };
    if (!std::all_of(suspects.begin(), suspects.end(), is_copy)) std::erase_if(suspects, is_copy);
    return suspects;
}

/// What the error of `suspects[chosen]` says. `why` is what a call of the lost device said, which came after the fault
/// and may have been about any task.
std::string fault_text(const std::vector<Suspect>& suspects, std::size_t chosen, const std::string& why) {
    std::string text =
        why + "; it is the first task of stream '" + name_of(suspects[chosen].stream) + "' that did not complete";
    if (suspects.size() == 1) return text;
    text += ". On other streams that is ";
    bool first = true;
    for (std::size_t i = 0; i < suspects.size(); ++i) {
        if (i == chosen) continue;
        text += (first ? "" : ", ") + task_label(*suspects[i].task) + " ('" + name_of(suspects[i].stream) + "')";
        first = false;
    }
    return text + ". One of them failed; CUDA_LAUNCH_BLOCKING=1 in the environment tells which one";
}

}  // namespace

/// On a device that is lost: nothing that was enqueued uses the task any more. A successor is enqueued behind the
/// points that the task itself had to wait for.
std::vector<StreamPoint> Driver::ends_of_lost(const DeviceWork& work) const {
    device_.synchronize();
    if (work.has_parts.load(std::memory_order_relaxed)) {
        for (const auto& device : p_.devices) device->synchronize();  // a broadcast runs on streams of several
    }
    std::vector<StreamPoint> ends;
    work.waits.for_each([&](const StreamPoint& point) {
        if (!device_at(point.device).lost()) ends.push_back(point);
    });
    if (ends.size() <= DeviceWork::most_ends) return ends;
    // more than there is room for: what they stand for ends now
    for (const StreamPoint& point : ends) device_at(point.device).synchronize();
    return {};
}

void Driver::watch_device() {
    device_.on_failure([this](void* work) {
        if (work != nullptr) failed(*static_cast<Task*>(work));
    });
}

void Driver::failed(Task& task) {
    fail_task(p_.graph, task, device_.name());
    // afterwards: what lacks its contents for this reason is a consequence, and its graph keeps the error that came
    // first
    const DeviceWork& work = *task.on_device();
    if (work.failed) work.failed();
}

/// Whether it waits for a kernel of this device that is not known to have completed.
bool Driver::waits_for_kernel(const DeviceWork& work) const {
    bool waits = false;
    work.waits.for_each([&](const StreamPoint& point) {
        if (point.device != device_.index() || !computes(point.role) || point.role == work.role) return;
        const std::deque<InFlight>& flights = stream(point.role);
        waits = waits || (!flights.empty() && flights.front().end <= point.ticket);
    });
    return waits;
}

/// A call for the task in hand threw what is being handled.
void Driver::fail_in_hand(Task& task, const Begun& begun) {
    const DeviceWork& work = *task.on_device();
    const bool began = begun.launched && stream(work.role).empty() && !waits_for_kernel(work);
    if (!blame_suspects(began ? std::optional(Suspect{&task, work.role}) : std::nullopt)) return failed(task);
    if (began && computes(work.role)) return;  // one of the suspects
    try {
        throw DeviceError(device_.name() + ": lost before the task ran", device_.index(), DeviceFault::device_lost);
    } catch (const DeviceError&) {
        failed(task);
    }
}

/// The exception that is being handled may be the first that tells of a fault, in a call that has nothing to do with
/// it. Then those tasks fail that may have faulted, so that errors name them, and the result is true. `in_hand`: a task
/// that is not in flight yet and has begun.
bool Driver::blame_suspects(const std::optional<Suspect>& in_hand) {
    if (blamed_ || !device_.lost_silently()) return false;
    std::vector<Suspect> suspects;
    for (const StreamRole role : pool_.streams()) {
        const std::deque<InFlight>& flights = stream(role);
        if (flights.empty() || waits_for_kernel(*flights.front().task->on_device())) continue;
        suspects.push_back({flights.front().task, role});
    }
    if (in_hand) suspects.push_back(*in_hand);
    suspects = most_likely(std::move(suspects));
    if (suspects.empty()) return false;
    blamed_ = true;
    const std::string why = message_of(std::current_exception());
    for (std::size_t i = 0; i < suspects.size(); ++i) {
        try {
            throw DeviceError(fault_text(suspects, i, why), device_.index(), DeviceFault::device_lost);
        } catch (const DeviceError&) {
            failed(*suspects[i].task);
        }
    }
    return true;
}

}  // namespace basalt::detail
