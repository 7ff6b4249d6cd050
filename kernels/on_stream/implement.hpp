#pragma once

#include "kernels/on_stream/kernel.hpp"

/// For files that implement kernels. They define overloads run_on_gpu(K, Stream, A...) or run_on_cpu(K, A...) for the
/// kernel K with the signature void(A...), and end with a line for each kernel and precision:
///
///     template <>
///     const CopyElements<float>::Gpu Code<CopyElements<float>>::gpu = gpu_code<CopyElements<float>>;
///
/// An explicit instantiation of a function would repeat the whole signature. A line for many kernels at once would have
/// to leave the definition of Code<K> generic, and a file that implements one kernel and calls another would then
/// instantiate both.
namespace basalt::on_stream {

template <class K, class Function>
struct Runner;
template <class K, class Result, class... A>
struct Runner<K, Result (*)(A...)> {
    static Result on_gpu(A... a) { return run_on_gpu(K(), a...); }
    static Result on_cpu(A... a) { return run_on_cpu(K(), a...); }
};

template <class K>
inline constexpr typename K::Gpu gpu_code = &Runner<K, typename K::Gpu>::on_gpu;
template <class K>
inline constexpr typename K::Cpu cpu_code = &Runner<K, typename K::Cpu>::on_cpu;

}  // namespace basalt::on_stream
