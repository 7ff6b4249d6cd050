#pragma once

#include <stdexcept>

namespace basalt {

/// What the program returns to its caller.
enum ExitStatus : int {
    exit_done = 0,            ///< done and checked
    exit_check_failed = 1,    ///< a result was wrong, or nothing was computed that could be checked
    exit_wrong_use = 2,       ///< the command line, the environment or an input file is not as it must be
    exit_machine_failed = 3,  ///< the machine could not do it: memory, a device, a file system
    exit_interrupted = 130,   ///< Ctrl-C: what a shell reports for a program that SIGINT ended
};

/// Ends the program with exit_wrong_use. what() names the option or file, the value and what is allowed.
class WrongUse : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Ends the program with exit_machine_failed. what() says what was needed and what there is.
class MachineFailure : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Ends the program with exit_interrupted. what() says what was done before.
class Interrupted : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

}  // namespace basalt
