#pragma once

#include <ostream>
#include <sstream>

#include "apps/runs/output_files.hpp"

namespace basalt {

/// A stream into the report's file that loses nothing of a benchmark of hours: if the file cannot be written, the text
/// since the last flush and all that follows goes to the human lines.
class ReportStream : public std::ostream {
  public:
    /// Both must outlive the stream.
    ReportStream(OutputFiles& files, OutputFile& file) : std::ostream(nullptr), buffer_(files, file) {
        rdbuf(&buffer_);
    }
    ReportStream(const ReportStream&) = delete;
    ReportStream& operator=(const ReportStream&) = delete;

  private:
    class Buffer : public std::stringbuf {
      public:
        Buffer(OutputFiles& files, OutputFile& file) : std::stringbuf(std::ios::out), files_(files), file_(file) {}

      protected:
        int sync() override {
            const std::string text = str();
            str({});
            const auto write_to = [&text](std::ostream& out) { out << text; };
            if (!failed_ && !files_.write(file_, "the report", write_to)) {
                failed_ = true;
                files_.human() << file_.path() << " cannot be written; the report goes on here\n";
            }
            if (failed_) files_.human() << text << std::flush;
            return 0;
        }

      private:
        OutputFiles& files_;
        OutputFile& file_;
        bool failed_ = false;
    };

    Buffer buffer_;
};

}  // namespace basalt
