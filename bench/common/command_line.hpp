#pragma once

#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>

#include <CLI/CLI.hpp>

namespace bench {

/// A bench's main: parses the command line and calls run(), which returns the exit status. Other statuses: 0 after
/// --help; 2 for wrong use (a parse error, or std::invalid_argument from run()), with option, value and the allowed
/// values on stderr; 3 for other exceptions.
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
