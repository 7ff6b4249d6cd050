#pragma once

#include <memory>
#include <ostream>
#include <string>

namespace basalt {

/// A stream into a file that keeps the system's reason where a write fails.
class OutputFile : public std::ostream {
  public:
    enum class Contents {
        replaced,  ///< the first write removes what the file holds
        appended,
    };

    /// Opens the file, or makes an empty one, for writing. What it holds is still there until something is written.
    /// Throws std::system_error with the reason.
    OutputFile(std::string path, Contents contents);
    /// Closes the file. One that the constructor made is removed again if nothing was written to it.
    ~OutputFile() override;
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    const std::string& path() const { return path_; }

    /// The open file, for fstat().
    int descriptor() const;

    /// Writes what is buffered to the file; a file whose contents are replaced holds only that from here on. Throws
    /// std::system_error with the file's name and the reason where this write or an earlier one has failed. The stream
    /// is good again afterwards; what was not written is dropped.
    void finish();

  private:
    class Buffer;

    const std::string path_;
    std::unique_ptr<Buffer> buffer_;
};

}  // namespace basalt
