#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string_view>

#include "basalt/view.hpp"

namespace basalt {

/// Reads a text line by line, in large blocks: for files of gigabytes.
class TextLines {
  public:
    /// A line that is longer may come in several parts, each of them longer than this.
    static constexpr std::size_t longest = 65536;

    /// `in` must outlive this.
    explicit TextLines(std::istream& in);

    /// Moves to the next line; false if there is none. LF or CRLF ends a line; the last line needs neither.
    bool next();

    /// The line without its end; valid until the next call of next().
    std::string_view line() const { return line_; }

    /// Number of the line, from 1. After the last line it is one more than the number of lines.
    Index number() const { return number_; }

    /// Whether reading stopped because of an error, not at the end of the text.
    bool failed() const { return failed_; }

  private:
    void refill();

    std::istream& in_;
    std::unique_ptr<char[]> block_;  // not initialized: only bytes that were read are used
    std::size_t begin_ = 0;          // [begin_, end_) holds bytes that no line has used yet
    std::size_t end_ = 0;
    bool at_end_ = false;
    bool failed_ = false;
    bool over_ = false;
    std::string_view line_;
    Index number_ = 0;
};

}  // namespace basalt
