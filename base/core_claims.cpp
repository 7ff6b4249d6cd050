#include "base/core_claims.hpp"

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <numeric>
#include <optional>
#include <string>
#include <utility>

#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/process.hpp"
#include "base/topology.hpp"

namespace basalt::detail {

namespace {

std::mutex claims_lock;  // guards the table

/// What the process knows of its cores, by number.
struct CoreTable {
    struct Core {
        int places = 0;   ///< of this process's runtimes that are bound there
        int socket = -1;  ///< tells other processes, if it is open
    };
    static CoreTable& instance() {
        static auto* const table = make();  // never destroyed: static runtimes use it
        return *table;
    }
    std::vector<Core> cores;

  private:
    static CoreTable* make() {
        auto* const table = new CoreTable{std::vector<Core>(static_cast<std::size_t>(core_count()))};
        hold_during_fork<claims_lock>();
        pthread_atfork(nullptr, nullptr, leave_in_child);
        return table;
    }
    static void leave_in_child();
};

/// Of a thread that was bound: where it could run before.
thread_local cpu_set_t allowed_before;
thread_local bool is_bound = false;

/// A child process has none of the bound threads, and its only one is bound to nothing.
void CoreTable::leave_in_child() {
    for (Core& core : instance().cores) {
        if (core.socket >= 0) close(core.socket);
        core = {};
    }
    if (is_bound) sched_setaffinity(0, sizeof allowed_before, &allowed_before);
    is_bound = false;
}

enum class Claim : std::uint8_t { made, taken, impossible };

/// Gives the core a socket with its name, which only one process can have.
Claim claim_among_processes(std::size_t core, const std::string& scope, int& made) {
    const auto processor = processor_of(static_cast<int>(core));
    if (!processor) return Claim::impossible;
    const std::string name = scope + " core " + std::to_string(*processor);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (name.size() + 1 > sizeof address.sun_path) return Claim::impossible;
    std::memcpy(address.sun_path + 1, name.data(), name.size());  // behind a zero: in the abstract namespace
    const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return Claim::impossible;
    const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
    if (bind(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0) {
        made = socket;
        return Claim::made;
    }
    close(socket);
    return errno == EADDRINUSE ? Claim::taken : Claim::impossible;
}

}  // namespace

CoreClaims::CoreClaims(int places, const std::string& scope) {
    const auto wanted = static_cast<std::size_t>(places);
    if (wanted == 0) return;
    CoreTable& table = CoreTable::instance();
    const std::lock_guard guard(claims_lock);
    std::vector<std::size_t> order(table.cores.size());
    if (order.empty()) return;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return std::pair(table.cores[a].places, a) < std::pair(table.cores[b].places, b);
    });
    // a runtime that takes all cores leaves others no choice, and has none
    if (wanted < order.size()) prefer_unclaimed(order, wanted, scope);
    order.resize(std::min(wanted, order.size()));
    std::sort(order.begin(), order.end());  // neighbours share caches
    for (std::size_t place = 0; place < wanted; ++place) {
        cores_.push_back(order[place % order.size()]);
        ++table.cores[cores_.back()].places;
    }
    for (const std::size_t core : cores_) {
        const std::optional<int> processor = processor_of(static_cast<int>(core));
        if (!processor || *processor >= CPU_SETSIZE) {
            processors_.clear();
            break;
        }
        processors_.push_back(*processor);
    }
}

/// Of cores that no runtime of this process has, those that other processes have claimed go behind the rest. The first
/// `wanted` of the order are claimed as far as that is possible.
void CoreClaims::prefer_unclaimed(std::vector<std::size_t>& order, std::size_t wanted, const std::string& scope) {
    CoreTable& table = CoreTable::instance();
    auto next = order.begin();  // where the next unclaimed one goes
    for (auto core = next; core != order.end(); ++core) {
        if (next - order.begin() == static_cast<std::ptrdiff_t>(wanted) || table.cores[*core].places > 0) return;
        if (claim_among_processes(*core, scope, table.cores[*core].socket) == Claim::taken) continue;
        std::rotate(next, core, core + 1);
        ++next;
    }
}

CoreClaims::~CoreClaims() {
    if (cores_.empty()) return;
    CoreTable& table = CoreTable::instance();
    const std::lock_guard guard(claims_lock);
    for (const std::size_t number : cores_) {
        CoreTable::Core& core = table.cores[number];
        if (--core.places > 0 || core.socket < 0) continue;
        close(core.socket);
        core.socket = -1;
    }
}

void CoreClaims::bind_this_thread(int place) const {
    if (cores_.empty()) return;
    is_bound = is_bound || sched_getaffinity(0, sizeof allowed_before, &allowed_before) == 0;
    detail::bind_this_thread(static_cast<int>(cores_[static_cast<std::size_t>(place) % cores_.size()]));
}

void CoreClaims::leave_other_cores() const {
    if (processors_.size() < 2) return;
    const int here = sched_getcpu(), own = processors_.front();
    if (here == own || std::find(processors_.begin(), processors_.end(), here) == processors_.end()) return;
    cpu_set_t allowed, wanted;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || !CPU_ISSET(own, &allowed)) return;
    CPU_ZERO(&wanted);
    CPU_SET(own, &wanted);
    if (sched_setaffinity(0, sizeof wanted, &wanted) == 0) sched_setaffinity(0, sizeof allowed, &allowed);
}

int CoreClaims::package_of(int place) const {
    if (cores_.empty()) return 0;
    return detail::package_of(static_cast<int>(cores_[static_cast<std::size_t>(place) % cores_.size()]));
}

}  // namespace basalt::detail
