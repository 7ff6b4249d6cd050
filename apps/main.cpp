#include <array>

#include "apps/program.hpp"

// The program `basalt`.
int main(int argc, char** argv) {
    using namespace basalt;
    constexpr std::array<AddCommand, 9> commands{add_info,  add_hpl,   add_cholesky, add_lu,  add_qr,
                                                 add_solve, add_trace, add_batch,    add_tune};
    run_program(argc, argv, commands);
}
