#include "io/files/atomic_file.hpp"

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace basalt {

namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail(const std::string& path, const std::string& reason) {
    throw std::runtime_error(path + ": " + reason);
}
[[noreturn]] void fail(const std::string& path, int error) { fail(path, std::generic_category().message(error)); }

/// The file that a chain of symbolic links leads to, whether it exists or not.
std::string link_target(const std::string& path) {
    constexpr int most_links = 40;  // as the kernel follows
    fs::path target = path;
    std::error_code error;
    for (int links = 0; fs::is_symlink(target, error); ++links) {
        if (links == most_links) fail(path, ELOOP);
        const fs::path next = fs::read_symlink(target, error);
        if (error) fail(path, error.value());
        target = target.parent_path() / next;  // only `next` if that is absolute
    }
    return target.string();
}

/// What stat() says of `path`; nullopt where there is no such file.
std::optional<struct stat> status_of(const std::string& path) {
    struct stat status {};
    if (stat(path.c_str(), &status) == 0) return status;
    if (errno != ENOENT) fail(path, errno);
    return std::nullopt;
}

/// A new file in the folder of `path`, removed again unless it replaces that file.
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

    /// Only root may give files away; for others the owner is the same in most cases.
    void take_owner_and_mode(const struct stat& status) const {
        [[maybe_unused]] const int ignored = fchown(file_, status.st_uid, status.st_gid);
        if (fchmod(file_, status.st_mode & 07777) != 0) fail(path_, errno);
    }

    void write(std::string_view text) const {
        while (!text.empty()) {
            const ssize_t written = ::write(file_, text.data(), text.size());
            if (written < 0 && errno == EINTR) continue;
            if (written < 0) fail(path_, errno);
            text.remove_prefix(static_cast<std::size_t>(written));
        }
    }

    void replace_file() {
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
    const std::string target = link_target(path);
    const auto old = status_of(target);
    if (old && !S_ISREG(old->st_mode)) fail(path, "is not a regular file");
    Temporary file(target);
    if (old) file.take_owner_and_mode(*old);
    file.write(text);
    file.replace_file();
}

}  // namespace basalt
