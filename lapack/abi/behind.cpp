#include "lapack/abi/behind.hpp"

#include <cstddef>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <link.h>

#include "lapack/abi/objects.hpp"

namespace basalt::lapack {

namespace {

/// The loaded object that an address belongs to.
const void* object_of(const void* address) {
    Dl_info info{};
    return dladdr(address, &info) != 0 ? info.dli_fbase : nullptr;
}

const void* own_object() { return object_of(reinterpret_cast<const void*>(&find_behind)); }

/// The symbol in an object that is loaded, or in those that it needs. The object stays loaded if it has the symbol.
void* find_in(const char* path, const char* name) {
    void* const object = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
    if (object == nullptr) return nullptr;
    void* const symbol = dlsym(object, name);
    if (symbol != nullptr && object_of(symbol) != own_object()) return symbol;
    dlclose(object);
    return nullptr;
}

void* find_beside(const void* caller, const char* name) {
    Dl_info info{};
    if (dladdr(caller, &info) == 0 || info.dli_fname == nullptr) return nullptr;
    return find_in(info.dli_fname, name);
}

/// Names of all loaded objects, one behind the other. They are collected first: dlopen() inside dl_iterate_phdr() would
/// take the loader's locks in another order than other threads.
struct ObjectNames {
    char* text = nullptr;
    std::size_t size = 0;
};

int add_name(dl_phdr_info* info, std::size_t, void* names) {
    auto* const all = static_cast<ObjectNames*>(names);
    const std::size_t length = std::strlen(info->dlpi_name) + 1;
    auto* const text = static_cast<char*>(std::realloc(all->text, all->size + length));
    if (text == nullptr) return 1;
    std::memcpy(text + all->size, info->dlpi_name, length);
    *all = {text, all->size + length};
    return 0;
}

void* find_anywhere(const char* name) {
    ObjectNames names;
    visit_objects(add_name, &names);
    void* found = nullptr;
    for (std::size_t i = 0; i < names.size && found == nullptr; i += std::strlen(names.text + i) + 1) {
        if (names.text[i] != '\0') found = find_in(names.text + i, name);
    }
    std::free(names.text);
    return found;
}

/// OpenBLAS's function for 32-bit integers: "dgesv_" for "scipy_dgesv_".
void* find_in_openblas(const char* name) {
    constexpr char prefix[] = "scipy_";
    constexpr char suffix[] = "_64_";
    if (std::strncmp(name, prefix, sizeof prefix - 1) == 0) name += sizeof prefix - 1;
    const std::size_t length = std::strlen(name);
    if (length >= sizeof suffix && std::strcmp(name + length - (sizeof suffix - 1), suffix) == 0) return nullptr;
    void* const openblas = dlopen("libopenblas.so.0", RTLD_LAZY | RTLD_LOCAL);
    return openblas != nullptr ? dlsym(openblas, name) : nullptr;
}

}  // namespace

void* find_behind(const char* name, const void* caller) {
    void* found = dlsym(RTLD_NEXT, name);
    if (found == nullptr) found = find_beside(caller, name);
    if (found == nullptr) found = find_anywhere(name);
    if (found == nullptr) found = find_in_openblas(name);
    return found;
}

void* find_xerbla(const char* name, const void* caller) {
    void* found = dlsym(RTLD_DEFAULT, name);
    if (found == nullptr) found = find_behind(name, caller);
    return found;
}

}  // namespace basalt::lapack
