// bench_machine: the circumstances of a run on this machine, as every record has them.
#include <cstdio>
#include <string>

#include "bench/common/command_line.hpp"
#include "bench/common/record_file.hpp"

int main(int argc, char** argv) {
    bench::CommandLine app("The machine, its driver, clocks and load as one record", "bench_machine");
    std::string json = "-";
    app.add_option("--json", json, "append the record to this file; - for standard output");
    return app.run_program(argc, argv, [&] {
        bench::RecordFile(json).write({{"bench", "machine"}});
        return 0;
    });
}
