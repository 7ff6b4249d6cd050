#include "io/files/small_file.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace basalt {

namespace {

[[noreturn]] void fail_with(int error) { throw std::runtime_error(std::generic_category().message(error)); }

class OpenFile {
  public:
    explicit OpenFile(int descriptor) : descriptor_(descriptor) {}
    ~OpenFile() {
        if (descriptor_ >= 0) close(descriptor_);
    }
    OpenFile(const OpenFile&) = delete;
    OpenFile& operator=(const OpenFile&) = delete;
    int descriptor() const { return descriptor_; }

  private:
    const int descriptor_;
};

const char* kind_name(mode_t mode) {
    if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
    if (S_ISFIFO(mode)) return "a pipe";
    if (S_ISSOCK(mode)) return "a socket";
    return "no regular file";
}

}  // namespace

std::optional<std::string> read_small_file(const std::string& path, std::size_t most, FileKind kind) {
    // O_NONBLOCK: open() would wait for a writer of a named pipe
    const int no_wait = kind == FileKind::regular ? O_NONBLOCK : 0;
    const OpenFile file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | no_wait));
    if (file.descriptor() < 0 && errno == ENOENT) return std::nullopt;
    if (file.descriptor() < 0) fail_with(errno);
    struct stat status {};
    if (fstat(file.descriptor(), &status) != 0) fail_with(errno);
    if (S_ISDIR(status.st_mode)) throw std::runtime_error("is a folder");
    if (kind == FileKind::regular && !S_ISREG(status.st_mode)) {
        throw std::runtime_error(fmt::format("is {}", kind_name(status.st_mode)));
    }
    std::string text;
    std::array<char, 1 << 16> block;
    for (;;) {
        const ssize_t count = ::read(file.descriptor(), block.data(), block.size());
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) fail_with(errno);
        if (count == 0) return text;
        text.append(block.data(), static_cast<std::size_t>(count));
        if (text.size() > most) throw std::runtime_error(fmt::format("has more than {} bytes", most));
    }
}

}  // namespace basalt
