// Replaces gpus.cpp in builds with CUDA but without cuSOLVERMg.
#include <stdexcept>

#include "bench/vendor/gpus.hpp"

namespace bench {

using basalt::DealtView;
using basalt::Index;

struct VendorGpus::State {};
template <class T>
struct VendorLuGpus<T>::State {};
template <class T>
struct VendorCholeskyGpus<T>::State {};

namespace {

[[noreturn]] void absent() {
    throw std::runtime_error("--vendor cusolvermg: libcusolverMg was not found when this was built");
}

}  // namespace

std::string vendor_gpus_version() { return ""; }

VendorGpus::VendorGpus(int) { absent(); }
VendorGpus::~VendorGpus() = default;

template <class T>
VendorLuGpus<T>::VendorLuGpus(const VendorGpus&, const DealtView<T>&) {
    absent();
}
template <class T>
VendorLuGpus<T>::~VendorLuGpus() = default;
template <class T>
double VendorLuGpus<T>::factor() {
    absent();
}
template <class T>
int VendorLuGpus<T>::info() const {
    absent();
}
template <class T>
std::vector<Index> VendorLuGpus<T>::pivots() const {
    absent();
}

template <class T>
VendorCholeskyGpus<T>::VendorCholeskyGpus(const VendorGpus&, const DealtView<T>&) {
    absent();
}
template <class T>
VendorCholeskyGpus<T>::~VendorCholeskyGpus() = default;
template <class T>
double VendorCholeskyGpus<T>::factor() {
    absent();
}
template <class T>
int VendorCholeskyGpus<T>::info() const {
    absent();
}

template class VendorLuGpus<float>;
template class VendorLuGpus<double>;
template class VendorCholeskyGpus<float>;
template class VendorCholeskyGpus<double>;

}  // namespace bench
