// What every text must do to the Matrix Market reader: be refused with a line number, or give a finite matrix that
// survives being written and read again, bit for bit.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "io/files/matrix_market.hpp"

namespace {

using basalt::Index;
using basalt::MatrixMarketError;
using basalt::MatrixMarketReader;
using basalt::View;

constexpr Index most_elements = 1 << 14;  // larger matrices are left alone once their header is read

[[noreturn]] void fail(const char* what) {
    std::fprintf(stderr, "fuzz: %s\n", what);
    std::abort();
}

template <class T>
struct Loaded {
    Index rows = 0;
    Index cols = 0;
    std::vector<T> elements;

    View<const T> view() const { return View<const T>::column_major(elements.data(), rows, cols, rows); }
};

/// The matrix in `text`; empty where it is refused or large.
template <class T>
std::optional<Loaded<T>> load(const std::string& text) {
    std::istringstream in(text);
    try {
        MatrixMarketReader reader(in, "text");
        Loaded<T> a{reader.header().rows, reader.header().cols, {}};
        if (a.rows > most_elements || a.cols > most_elements || a.rows * a.cols > most_elements) return std::nullopt;
        a.elements.assign(static_cast<std::size_t>(a.rows * a.cols), std::nan(""));
        reader.read(View<T>::column_major(a.elements.data(), a.rows, a.cols, a.rows));
        return a;
    } catch (const MatrixMarketError& error) {
        const std::string what = error.what();
        if (what.rfind("text:", 0) != 0 || std::strtol(what.c_str() + 5, nullptr, 10) < 1) fail("no line number");
        if (what.find("; allowed: ") == what.npos) fail("nothing is said to be allowed");
        return std::nullopt;
    }
}

template <class T>
void check(const std::string& text) {
    const auto a = load<T>(text);
    if (!a) return;
    for (const T element : a->elements) {
        if (!std::isfinite(element)) fail("an element is not finite");
    }
    std::ostringstream out;
    basalt::write_matrix_market<T>(out, a->view());
    const auto again = load<T>(out.str());
    if (!again) fail("what was written is refused");
    if (again->rows != a->rows || again->cols != a->cols) fail("the size changed");
    const std::size_t bytes = a->elements.size() * sizeof(T);
    if (bytes > 0 && std::memcmp(again->elements.data(), a->elements.data(), bytes) != 0) fail("an element changed");
}

}  // namespace

/// libFuzzer's entry; fuzz/driver.cpp calls it, too.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string text(reinterpret_cast<const char*>(data), size);
    check<double>(text);
    check<float>(text);
    return 0;
}
