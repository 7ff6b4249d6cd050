#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

namespace basalt_tests {

/// What the process writes to standard error while this lives.
class CapturedStderr {
  public:
    CapturedStderr() : before_(dup(STDERR_FILENO)) {
        const int file = mkstemp(name_.data());
        if (file < 0 || dup2(file, STDERR_FILENO) < 0) throw std::runtime_error("no temporary file " + name_);
        close(file);
    }
    ~CapturedStderr() {
        std::fflush(stderr);
        dup2(before_, STDERR_FILENO);
        close(before_);
        unlink(name_.c_str());
    }
    CapturedStderr(const CapturedStderr&) = delete;
    CapturedStderr& operator=(const CapturedStderr&) = delete;

    std::string text() const {
        std::ifstream file(name_);
        return {std::istreambuf_iterator<char>(file), {}};
    }
    std::size_t count(const std::string& part) const {
        const std::string all = text();
        std::size_t found = 0;
        for (std::size_t at = 0; (at = all.find(part, at)) != std::string::npos; at += part.size()) ++found;
        return found;
    }

  private:
    std::string name_ = "/tmp/basalt-stderr-XXXXXX";
    const int before_;
};

}  // namespace basalt_tests
