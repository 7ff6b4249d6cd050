#include "tuner/nvrtc/compiler.hpp"

#include <array>
#include <string>

#include <dlfcn.h>

#include "base/library_function.hpp"
#include "tuner/nvrtc/sources.hpp"

namespace basalt::tuner {

namespace {

/// As nvrtc.h declares them; nvrtcProgram is a pointer, nvrtcResult an enumeration whose 0 stands for success.
struct NvrtcFunctions {
    int (*create)(void** program, const char* source, const char* name, int count, const char* const* headers,
                  const char* const* names) = nullptr;
    int (*compile)(void* program, int count, const char* const* options) = nullptr;
    int (*log_size)(void* program, std::size_t* size) = nullptr;
    int (*log)(void* program, char* text) = nullptr;
    int (*image_size)(void* program, std::size_t* size) = nullptr;
    int (*image)(void* program, char* image) = nullptr;
    int (*destroy)(void** program) = nullptr;
};

/// In the order of preference; the last one is where toolkits install it outside of the linker's cache.
constexpr std::array nvrtc_names{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so",
                                 "/usr/local/cuda/lib64/libnvrtc.so"};

template <class Function>
void find_nvrtc_function(void* library, const char* name, Function& function) {
    if (!detail::find_library_function(library, name, function))
        throw NvrtcMissing(std::string("NVRTC has no ") + name);
}

NvrtcFunctions load_nvrtc() {
    void* library = nullptr;  // for the rest of the process
    std::string tried;
    for (const char* const name : nvrtc_names) {
        library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        if (library != nullptr) break;
        tried += (tried.empty() ? "" : ", ") + std::string(name);
    }
    if (library == nullptr) throw NvrtcMissing("there is no NVRTC, which is part of CUDA's toolkit: tried " + tried);
    NvrtcFunctions nvrtc;
    find_nvrtc_function(library, "nvrtcCreateProgram", nvrtc.create);
    find_nvrtc_function(library, "nvrtcCompileProgram", nvrtc.compile);
    find_nvrtc_function(library, "nvrtcGetProgramLogSize", nvrtc.log_size);
    find_nvrtc_function(library, "nvrtcGetProgramLog", nvrtc.log);
    find_nvrtc_function(library, "nvrtcGetCUBINSize", nvrtc.image_size);
    find_nvrtc_function(library, "nvrtcGetCUBIN", nvrtc.image);
    find_nvrtc_function(library, "nvrtcDestroyProgram", nvrtc.destroy);
    return nvrtc;
}

class NvrtcProgram {
  public:
    NvrtcProgram(const NvrtcFunctions& nvrtc, const std::string& source) : nvrtc_(nvrtc) {
        std::vector<const char*> texts, names;
        for (const SourceFile& header : kernel_headers()) {
            texts.push_back(header.text);
            names.push_back(header.name);
        }
        for (const char* const name : {"bit", "cmath", "cstddef", "cstdint", "limits", "type_traits"}) {
            texts.push_back("#include \"tuner/nvrtc/standard.hpp\"\n");
            names.push_back(name);
        }
        const int status = nvrtc_.create(&program_, source.c_str(), "candidate.cu", static_cast<int>(texts.size()),
                                         texts.data(), names.data());
        if (status != 0) throw std::runtime_error("nvrtcCreateProgram: status " + std::to_string(status));
    }
    ~NvrtcProgram() { nvrtc_.destroy(&program_); }
    NvrtcProgram(const NvrtcProgram&) = delete;
    NvrtcProgram& operator=(const NvrtcProgram&) = delete;

    int compile(const std::vector<std::string>& options) {
        std::vector<const char*> list;
        for (const std::string& option : options) list.push_back(option.c_str());
        return nvrtc_.compile(program_, static_cast<int>(list.size()), list.data());
    }
    std::string log() const { return text(nvrtc_.log_size, nvrtc_.log); }
    std::string image() const { return text(nvrtc_.image_size, nvrtc_.image); }

  private:
    std::string text(int (*size)(void*, std::size_t*), int (*get)(void*, char*)) const {
        std::size_t bytes = 0;
        if (size(program_, &bytes) != 0) return {};
        std::string all(bytes, '\0');
        return bytes > 0 && get(program_, all.data()) == 0 ? all : std::string();
    }

    const NvrtcFunctions& nvrtc_;
    void* program_ = nullptr;
};

/// NVRTC of newer toolkits, where there is a driver, keeps machine code on disk. It answers from there without what
/// ptxas writes, and machine code does not tell spills from other uses of local memory.
constexpr const char* option_without_cache = "--no-cache";

class NvrtcCompiler final : public Compiler {
  public:
    NvrtcCompiler() {
        NvrtcProgram program(nvrtc_, "__global__ void nothing() {}\n");
        // older ones have neither the option nor the cache
        if (program.compile({option_without_cache}) == 0) own_options_.emplace_back(option_without_cache);
    }

    Compiled compile(const std::string& source, const std::vector<std::string>& options) override {
        NvrtcProgram program(nvrtc_, source);
        Compiled compiled;
        std::vector<std::string> all = options;
        all.insert(all.end(), own_options_.begin(), own_options_.end());
        const int status = program.compile(all);
        const std::string log = program.log();
        if (status != 0) {
            compiled.error = "status " + std::to_string(status) + ": " + log.substr(0, log.find('\0'));
            return compiled;
        }
        compiled.image = program.image();
        if (compiled.image.empty()) {
            compiled.error = "the compiler made no machine code";
            return compiled;
        }
        read_resources(log, compiled);
        return compiled;
    }

  private:
    const NvrtcFunctions nvrtc_ = load_nvrtc();
    std::vector<std::string> own_options_;
};

}  // namespace

std::unique_ptr<Compiler> make_nvrtc_compiler() { return std::make_unique<NvrtcCompiler>(); }

}  // namespace basalt::tuner
