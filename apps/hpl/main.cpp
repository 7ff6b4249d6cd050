#include <array>
#include <vector>

#include "apps/program.hpp"

// The program `basalt-hpl`: `basalt hpl` without the code of the other subcommands, which takes long to compile.
int main(int argc, char** argv) {
    using namespace basalt;
    static char subcommand[] = "hpl";
    std::vector<char*> arguments(argv, argv + argc + 1);  // with the null pointer at the end
    arguments.insert(arguments.begin() + 1, subcommand);
    run_program(argc + 1, arguments.data(), std::array<AddCommand, 1>{add_hpl});
}
