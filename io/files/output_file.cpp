#include "io/files/output_file.hpp"

#include <cerrno>
#include <streambuf>
#include <system_error>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace basalt {

/// Unlike std::filebuf it remembers why a write failed.
class OutputFile::Buffer : public std::streambuf {
  public:
    Buffer(const std::string& path, Contents contents) : replaces_(contents == Contents::replaced) {
        const int flags = O_WRONLY | O_CLOEXEC | (replaces_ ? 0 : O_APPEND);
        file_ = ::open(path.c_str(), flags | O_CREAT | O_EXCL, 0666);
        made_ = file_ >= 0;
        // not O_EXCL: the file is there, or `path` is a link to one that is not
        if (file_ < 0 && errno == EEXIST) file_ = ::open(path.c_str(), flags | O_CREAT, 0666);
        if (file_ < 0) throw std::system_error(errno, std::generic_category(), path);
        setp(text_.data(), text_.data() + text_.size());
    }
    ~Buffer() override { close(file_); }
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;

    int descriptor() const { return file_; }
    /// Whether the constructor made the file and it is as empty as it was.
    bool left_empty() const { return made_ && !written_; }
    /// errno of the first write that failed since the last call, 0 where none did.
    int take_error() { return std::exchange(error_, 0); }

  protected:
    int_type overflow(int_type c) override {
        if (sync() != 0) return traits_type::eof();
        if (!traits_type::eq_int_type(c, traits_type::eof())) sputc(traits_type::to_char_type(c));
        return traits_type::not_eof(c);
    }

    /// Writes the buffer out, or drops it where that fails.
    int sync() override {
        if (replaces_) ftruncate_once();
        const char* at = pbase();
        while (at != pptr() && error_ == 0) {
            const ssize_t count = ::write(file_, at, static_cast<std::size_t>(pptr() - at));
            if (count >= 0) {
                written_ = true;
                at += count;
            } else if (errno != EINTR) {
                error_ = errno;
            }
        }
        setp(text_.data(), text_.data() + text_.size());
        return error_ == 0 ? 0 : -1;
    }

  private:
    void ftruncate_once() {
        replaces_ = false;
        // EINVAL: a device or a pipe, which holds nothing
        if (ftruncate(file_, 0) != 0 && errno != EINVAL) error_ = errno;
    }

    bool replaces_;  // and nothing has been written yet
    int file_ = -1;
    bool made_ = false;
    bool written_ = false;
    int error_ = 0;
    std::vector<char> text_ = std::vector<char>(std::size_t{1} << 16);
};

OutputFile::OutputFile(std::string path, Contents contents)
    : std::ostream(nullptr), path_(std::move(path)), buffer_(std::make_unique<Buffer>(path_, contents)) {
    rdbuf(buffer_.get());
}

OutputFile::~OutputFile() {
    struct stat ours {
    }, named{};
    const bool unused = buffer_->left_empty() && fstat(descriptor(), &ours) == 0 && lstat(path_.c_str(), &named) == 0 &&
                        ours.st_size == 0 && ours.st_dev == named.st_dev && ours.st_ino == named.st_ino;
    if (unused) unlink(path_.c_str());
}

int OutputFile::descriptor() const { return buffer_->descriptor(); }

void OutputFile::finish() {
    flush();
    clear();
    if (const int error = buffer_->take_error()) throw std::system_error(error, std::generic_category(), path_);
}

}  // namespace basalt
