#pragma once

#include <cstddef>

struct dl_phdr_info;

namespace basalt::lapack {

/// dl_iterate_phdr(). A thread that forks waits for those that are here: the loader's own lock is never free in a child
/// process if another thread holds it at the fork. That remains possible where other code takes it, as dlopen() does.
void visit_objects(int (*visit)(dl_phdr_info* object, std::size_t size, void* data), void* data);

}  // namespace basalt::lapack
