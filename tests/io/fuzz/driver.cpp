// A main program for fuzz targets where there is no libFuzzer: replays a corpus, then mutates it blindly.
//
// usage: PROGRAM CORPUS_FOLDER [--runs N] [--seconds N] [--show K]
//   --runs, --seconds   mutations to make after the replay, whichever ends last; none without either
//   --show K            writes mutation K to standard output instead of running it
// Mutation K depends on the corpus and K alone. Where the target dies, K is the last line.
#include <algorithm>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include <unistd.h>

extern "C" {
int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);
const char* __asan_default_options();
const char* __ubsan_default_options();
}

/// Findings of the sanitizers end in SIGABRT, as those of the target.
const char* __asan_default_options() { return "abort_on_error=1:detect_stack_use_after_return=1"; }
const char* __ubsan_default_options() { return "abort_on_error=1:halt_on_error=1:print_stacktrace=1"; }

namespace {

using Corpus = std::vector<std::string>;

volatile std::sig_atomic_t current = -1;  // the mutation that runs

/// Async-signal-safe.
void tell_current(int signal) {
    char text[32] = "\nmutation ";
    char* end = std::to_chars(text + 10, text + 30, static_cast<int>(current)).ptr;
    *end++ = '\n';
    if (write(STDERR_FILENO, text, static_cast<std::size_t>(end - text)) < 0) _exit(1);
    std::signal(signal, SIG_DFL);
    std::raise(signal);
}

Corpus read_corpus(const std::string& folder) {
    std::vector<std::filesystem::path> paths;
    for (const auto& entry : std::filesystem::directory_iterator(folder)) paths.push_back(entry.path());
    std::sort(paths.begin(), paths.end());
    Corpus corpus;
    for (const auto& path : paths) {
        std::ifstream in(path, std::ios::binary);
        corpus.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
    }
    return corpus;
}

/// One to eight random changes of a random input.
class Mutation {
  public:
    Mutation(const Corpus& corpus, int number) : corpus_(corpus), random_(static_cast<std::uint64_t>(number)) {}

    std::string text() {
        std::string text = any_input();
        for (std::size_t changes = 1 + below(8); changes > 0; --changes) change(text);
        return text;
    }

  private:
    std::size_t below(std::size_t bound) { return bound == 0 ? 0 : random_() % bound; }
    const std::string& any_input() { return corpus_[below(corpus_.size())]; }

    /// A word of an input, or a line.
    std::string any_part(const char* ends) {
        const std::string& input = any_input();
        const std::size_t begin = below(input.size());
        return input.substr(begin, std::min(input.find_first_of(ends, begin), input.size()) - begin);
    }

    void change(std::string& text) {
        const std::size_t at = below(text.size() + 1);
        const std::size_t length = below(std::min<std::size_t>(text.size() - at, 16) + 1);
        static constexpr char likely[] = "0123456789+-.eE \t\r\n%xnaif";
        switch (below(10)) {
            case 0: text.erase(at, length); break;
            case 1: text.resize(at); break;
            case 2: text.insert(at, text.substr(at, length)); break;
            case 3: text.insert(at, 1, static_cast<char>(below(256))); break;
            case 4: text.insert(at, 1, likely[below(sizeof likely - 1)]); break;
            case 5: text.replace(at, length, any_part(" \n")); break;
            case 6: text.insert(at, any_part("\n") + "\n"); break;
            case 7: text.insert(at, 1 + below(30), likely[below(10)]); break;
            case 8:  // a line about as long as the longest that a reader takes; rarely, since it takes long
                if (below(100) == 0) text.insert(at, 65536 - 100 + below(200), likely[below(sizeof likely - 1)]);
                break;
            default:
                if (at < text.size()) text[at] = likely[below(sizeof likely - 1)];
        }
    }

    const Corpus& corpus_;
    std::mt19937_64 random_;
};

void run(const std::string& text) {
    LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int argc, char** argv) {
    int runs = 0;
    int seconds = 0;
    int show = -1;
    for (int i = 2; i + 1 < argc; i += 2) {
        const std::string option = argv[i];
        (option == "--runs" ? runs : option == "--seconds" ? seconds : show) = std::stoi(argv[i + 1]);
    }
    const Corpus corpus = argc < 2 ? Corpus() : read_corpus(argv[1]);
    if (corpus.empty()) {
        std::cerr << "usage: " << argv[0] << " CORPUS_FOLDER [--runs N] [--seconds N] [--show K]\n";
        return 2;
    }
    if (show >= 0) {
        std::cout << Mutation(corpus, show).text();
        return 0;
    }
    for (const int signal : {SIGABRT, SIGSEGV, SIGFPE, SIGTERM}) std::signal(signal, tell_current);
    for (const auto& text : corpus) run(text);
    const auto stop = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
    while (current + 1 < runs || std::chrono::steady_clock::now() < stop) {
        current = current + 1;
        run(Mutation(corpus, current).text());
    }
    std::cout << corpus.size() << " inputs and " << current + 1 << " mutations without a finding\n";
}
