#include "io/hpl/hpl_report.hpp"

#include <array>
#include <ostream>
#include <string_view>

#include <fmt/format.h>

namespace basalt {

namespace {

constexpr std::string_view double_rule =
    "================================================================================\n";
constexpr std::string_view single_rule =
    "--------------------------------------------------------------------------------\n";

constexpr std::string_view banner =
    "HPLinpack 2.3  --  High-Performance Linpack benchmark  --   December 2, 2018\n"
    "Written by A. Petitet and R. Clint Whaley,  Innovative Computing Laboratory, UTK\n"
    "Modified by Piotr Luszczek, Innovative Computing Laboratory, UTK\n"
    "Modified by Julien Langou, University of Colorado Denver\n";

constexpr std::string_view explanation =
    "\nAn explanation of the input/output parameters follows:\n"
    "T/V    : Wall time / encoded variant.\n"
    "N      : The order of the coefficient matrix A.\n"
    "NB     : The partitioning blocking factor.\n"
    "P      : The number of process rows.\n"
    "Q      : The number of process columns.\n"
    "Time   : Time in seconds to solve the linear system.\n"
    "Gflops : Rate of execution for solving the linear system.\n"
    "\nThe following parameter values will be used:\n\n";

constexpr std::string_view table_head =
    "T/V                N    NB     P     Q               Time                 Gflops\n";

constexpr double epsilon = 0x1p-53;  // HPL's: half of the distance from 1 to the next double

/// One row of the parameter table: eight values per line, each in nine columns.
template <class List, class Text>
void write_list(std::ostream& out, std::string_view name, const List& values, Text text) {
    out << fmt::format("{:<7}:", name);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (i > 0 && i % 8 == 0) out << "\n        ";
        out << fmt::format("{:>8} ", text(values[i]));
    }
    out << '\n';
}

Index same(Index value) { return value; }

std::string_view name_of(HplFactor factor) {
    constexpr std::array<std::string_view, 3> names = {"Left", "Crout", "Right"};
    return names.at(static_cast<std::size_t>(factor));
}

std::string_view name_of(HplBroadcast broadcast) {
    constexpr std::array<std::string_view, 6> names = {"1ring", "1ringM", "2ring", "2ringM", "Blong", "BlongM"};
    return names.at(static_cast<std::size_t>(broadcast));
}

std::string name_of(HplSwap swap, Index threshold) {
    if (swap == HplSwap::binary_exchange) return "Binary-exchange";
    if (swap == HplSwap::spread_roll) return "Spread-roll (long)";
    return fmt::format("Mix (threshold = {})", threshold);
}

std::string_view form(bool transposed) { return transposed ? "transposed form" : "no-transposed form"; }

void write_parameters(std::ostream& out, const HplInput& input) {
    const auto factor_name = [](HplFactor factor) { return name_of(factor); };
    write_list(out, "N", input.sizes, same);
    write_list(out, "NB", input.block_sizes, same);
    out << "PMAP   : " << (input.order == HplOrder::row_major ? "Row" : "Column") << "-major process mapping\n";
    write_list(out, "P", input.grids, [](const HplGrid& grid) { return grid.p; });
    write_list(out, "Q", input.grids, [](const HplGrid& grid) { return grid.q; });
    write_list(out, "PFACT", input.panel_factors, factor_name);
    write_list(out, "NBMIN", input.stop_sizes, same);
    write_list(out, "NDIV", input.divisions, same);
    write_list(out, "RFACT", input.recursive_factors, factor_name);
    write_list(out, "BCAST", input.broadcasts, [](HplBroadcast broadcast) { return name_of(broadcast); });
    write_list(out, "DEPTH", input.depths, same);
    out << "SWAP   : " << name_of(input.swap, input.swap_threshold) << '\n'
        << "L1     : " << form(input.l1_transposed) << '\n'
        << "U      : " << form(input.u_transposed) << '\n'
        << "EQUIL  : " << (input.equilibrate ? "yes" : "no") << '\n'
        << fmt::format("ALIGN  : {} double precision words\n\n", input.alignment);
}

void write_check_explanation(std::ostream& out, double threshold) {
    out << single_rule << "\n- The matrix A is randomly generated for each test.\n"
        << "- The following scaled residual check will be computed:\n"
        << "      ||Ax-b||_oo / ( eps * ( || x ||_oo * || A ||_oo + || b ||_oo ) * N )\n"
        << fmt::format("- The relative machine precision (eps) is taken to be {:26.6e}\n", epsilon)
        << fmt::format("- Computational tests pass if scaled residuals are less than {:19.1f}\n\n", threshold);
}

/// In the format of ctime, with a newline at the end: "Sat Nov 21 01:01:53 2026\n".
std::string local_time(std::time_t time) {
    std::tm parts{};
    std::array<char, 64> text{};
    if (localtime_r(&time, &parts) == nullptr) return "unknown\n";
    const auto length = std::strftime(text.data(), text.size(), "%a %b %e %H:%M:%S %Y\n", &parts);
    return std::string(text.data(), length);
}

char letter(HplFactor factor) { return name_of(factor).front(); }

}  // namespace

double hpl_gflops(Index n, double seconds) {
    const auto order = static_cast<double>(n);
    if (!(seconds > 0)) return 0;
    // HPL's order of operations: n^3 does not overflow, and the printed digits are the same.
    return ((order / 1.0e+9) * (order / seconds)) * ((2.0 / 3.0) * order + (3.0 / 2.0));
}

std::string hpl_variant(const HplCase& test) {
    return fmt::format("W{}{}{}{}{}{}{}", test.order == HplOrder::row_major ? 'R' : 'C', test.depth,
                       static_cast<int>(test.broadcast), letter(test.recursive_factor), test.divisions,
                       letter(test.panel_factor), test.stop_size);
}

void HplReport::header() {
    out_ << double_rule << banner << double_rule << explanation;
    write_parameters(out_, input_);
    if (checks()) write_check_explanation(out_, input_.threshold);
    out_.flush();
}

void HplReport::timing_lines(const HplCase& test, const HplTiming& timing) {
    if (table_head_due_) out_ << double_rule << table_head << single_rule;
    table_head_due_ = checks();  // without checks the results form one table
    if (!(timing.seconds > 0)) return;
    out_ << hpl_variant(test)
         << fmt::format("{:12d} {:5d} {:5d} {:5d} {:18.2f}    {:19.4e}\n", test.n, test.nb, test.grid.p, test.grid.q,
                        timing.seconds, hpl_gflops(test.n, timing.seconds))
         << "HPL_pdgesv() start time " << local_time(timing.start) << "\nHPL_pdgesv() end time   "
         << local_time(timing.end) << '\n';
}

bool HplReport::checked_result(const HplCase& test, const HplTiming& timing, const HplCheck& check) {
    timing_lines(test, timing);
    const bool passes = check.scaled_residual < input_.threshold;
    ++(passes ? passed_ : failed_);
    out_ << single_rule
         << fmt::format("||Ax-b||_oo/(eps*(||A||_oo*||x||_oo+||b||_oo)*N)= {:16.8e} ...... {}\n", check.scaled_residual,
                        passes ? "PASSED" : "FAILED");
    if (check.scaled_residual >= input_.threshold) {  // false for NaN, as in HPL
        out_ << fmt::format("||Ax-b||_oo  . . . . . . . . . . . . . . . . . = {:18.6f}\n", check.residual_inf)
             << fmt::format("||A||_oo . . . . . . . . . . . . . . . . . . . = {:18.6f}\n", check.a_inf)
             << fmt::format("||A||_1  . . . . . . . . . . . . . . . . . . . = {:18.6f}\n", check.a_one)
             << fmt::format("||x||_oo . . . . . . . . . . . . . . . . . . . = {:18.6f}\n", check.x_inf)
             << fmt::format("||x||_1  . . . . . . . . . . . . . . . . . . . = {:18.6f}\n", check.x_one)
             << fmt::format("||b||_oo . . . . . . . . . . . . . . . . . . . = {:18.6f}\n", check.b_inf);
    }
    out_.flush();
    return passes;
}

void HplReport::unchecked_result(const HplCase& test, const HplTiming& timing) {
    timing_lines(test, timing);
    ++passed_;
    out_.flush();
}

void HplReport::skipped_grid(const HplGrid& grid, Index tests) {
    skipped_ += tests;
    out_ << fmt::format(
        "HPL ERROR from process # 0, in function HPL_pdinfo:\n"
        ">>> Need at least {} processes for these tests <<<\n\n",
        grid.p * grid.q);
    out_.flush();
}

void HplReport::summary() {
    out_ << double_rule
         << fmt::format("\nFinished {:6d} tests with the following results:\n", passed_ + failed_ + skipped_);
    if (checks()) {
        out_ << fmt::format("         {:6d} tests completed and passed residual checks,\n", passed_)
             << fmt::format("         {:6d} tests completed and failed residual checks,\n", failed_);
    } else {
        out_ << fmt::format("         {:6d} tests completed without checking,\n", passed_);
    }
    out_ << fmt::format("         {:6d} tests skipped because of illegal input values.\n", skipped_) << single_rule
         << "\nEnd of Tests.\n"
         << double_rule;
    out_.flush();
}

}  // namespace basalt
