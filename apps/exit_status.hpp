#pragma once

#include <stdexcept>
#include <string>

namespace basalt {

/// What the program returns to its caller.
enum ExitStatus : int {
    exit_done = 0,            ///< done and checked
    exit_check_failed = 1,    ///< a result was wrong, or nothing was computed that could be checked
    exit_wrong_use = 2,       ///< the command line, the environment or an input file is invalid
    exit_machine_failed = 3,  ///< the machine could not do it: memory, a device, a file system
    exit_interrupted = 130,   ///< Ctrl-C: as a shell reports a program that SIGINT has ended
    exit_terminated = 143,    ///< as a shell reports a program that SIGTERM has ended
};

/// Ends the program with exit_wrong_use. what() names the option or file, the value and what is allowed.
class WrongUse : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Ends the program with exit_machine_failed. what() says how much was needed and how much there is.
class MachineFailure : public std::runtime_error {
  public:
    using std::runtime_error::runtime_error;
};

/// Ends the program with `status`, exit_interrupted or exit_terminated. what() says how far it came.
class Interrupted : public std::runtime_error {
  public:
    Interrupted(const std::string& what, ExitStatus status) : std::runtime_error(what), status_(status) {}

    ExitStatus status() const { return status_; }

  private:
    ExitStatus status_;
};

}  // namespace basalt
