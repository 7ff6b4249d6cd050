#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

namespace basalt_tests {

/// A folder of its own, gone at the end with all that is in it.
class TemporaryFolder {
  public:
    TemporaryFolder() : name_((std::filesystem::temp_directory_path() / "basalt-test-XXXXXX").string()) {
        if (mkdtemp(name_.data()) == nullptr) throw std::runtime_error("no temporary folder " + name_);
    }
    ~TemporaryFolder() {
        std::error_code ignored;
        std::filesystem::remove_all(name_, ignored);
    }
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;

    std::string path(const std::string& file) const { return name_ + '/' + file; }
    void write(const std::string& file, const std::string& text) const { std::ofstream(path(file)) << text; }
    std::string read(const std::string& file) const {
        std::ostringstream text;
        text << std::ifstream(path(file)).rdbuf();
        return text.str();
    }
    /// How many there are in it.
    std::size_t files() const {
        std::size_t count = 0;
        for ([[maybe_unused]] const auto& file : std::filesystem::directory_iterator(name_)) ++count;
        return count;
    }

  private:
    std::string name_;
};

}  // namespace basalt_tests
