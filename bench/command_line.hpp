#pragma once

#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

#include <CLI/CLI.hpp>

namespace bench {

/// A bench's main: parses, then run() returns the exit status. 0 after --help; 2 for wrong use, with option, value and
/// what is allowed on stderr, also where run() throws std::invalid_argument; 3 for what else it throws.
template <class F>
int run_program(CLI::App& app, int argc, char** argv, const F& run) {
    const auto fail = [&app](int status, const char* message) {
        std::fprintf(stderr, "%s: %s\n", app.get_name().c_str(), message);
        return status;
    };
    try {
        app.parse(argc, argv);
        return run();
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        fail(2, error.what());
        std::fprintf(stderr, "Allowed options: %s --help\n", app.get_name().c_str());
        return 2;
    } catch (const std::invalid_argument& error) {
        return fail(2, error.what());
    } catch (const std::bad_alloc&) {
        return fail(3, "not enough memory");
    } catch (const std::exception& error) {
        return fail(3, error.what());
    }
}

}  // namespace bench
