#include "lapack/abi/objects.hpp"

#include <link.h>
#include <pthread.h>

namespace basalt::lapack {

namespace {

pthread_mutex_t visiting = PTHREAD_MUTEX_INITIALIZER;

void lock_before_fork() { pthread_mutex_lock(&visiting); }
void unlock_after_fork() { pthread_mutex_unlock(&visiting); }
__attribute__((constructor)) void watch_forks() {
    pthread_atfork(lock_before_fork, unlock_after_fork, unlock_after_fork);
}

}  // namespace

void visit_objects(int (*visit)(dl_phdr_info* object, std::size_t size, void* data), void* data) {
    pthread_mutex_lock(&visiting);
    dl_iterate_phdr(visit, data);
    pthread_mutex_unlock(&visiting);
}

}  // namespace basalt::lapack
