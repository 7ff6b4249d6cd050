#include "io/atomic_file.hpp"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <unistd.h>

namespace basalt {

namespace {

[[noreturn]] void fail(const std::string& path, int error) {
    throw std::runtime_error(path + ": " + std::generic_category().message(error));
}

/// A file of a name of its own beside `path`, gone again unless it took its place.
class Temporary {
  public:
    explicit Temporary(const std::string& path) : path_(path) {
        static std::atomic<unsigned> made{0};
        do {
            name_ = path + '.' + std::to_string(getpid()) + '.' + std::to_string(made++);
            file_ = open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        } while (file_ < 0 && errno == EEXIST);  // left by a process of that number that was killed
        if (file_ < 0) fail(path_, errno);
    }
    ~Temporary() {
        close(file_);
        if (!moved_) unlink(name_.c_str());
    }
    Temporary(const Temporary&) = delete;
    Temporary& operator=(const Temporary&) = delete;

    void write(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t written = ::write(file_, text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) fail(path_, errno);
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    }

    void take_place() {
        if (fsync(file_) != 0) fail(path_, errno);
        if (rename(name_.c_str(), path_.c_str()) != 0) fail(path_, errno);
        moved_ = true;
    }

  private:
    const std::string& path_;
    std::string name_;
    int file_ = -1;
    bool moved_ = false;
};

}  // namespace

void write_file_atomically(const std::string& path, std::string_view text) {
    const std::filesystem::path folder = std::filesystem::path(path).parent_path();
    std::error_code error;
    if (!folder.empty()) std::filesystem::create_directories(folder, error);
    if (error) fail(path, error.value());
    Temporary file(path);
    file.write(text);
    file.take_place();
}

}  // namespace basalt
