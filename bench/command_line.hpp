#pragma once

#include <cstdio>
#include <optional>

#include <CLI/CLI.hpp>

namespace bench {

/// Parses; the program's exit status where it is to end at once: 0 after --help, 2 for wrong use, with
/// option, value and what is allowed on stderr.
inline std::optional<int> parse(CLI::App& app, int argc, char** argv) {
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);
        std::fprintf(stderr, "%s: %s\nAllowed options: %s --help\n", app.get_name().c_str(), error.what(),
                     app.get_name().c_str());
        return 2;
    }
    return std::nullopt;
}

}  // namespace bench
