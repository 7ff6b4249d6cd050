#pragma once

#include <cstddef>
#include <iosfwd>
#include <memory>
#include <string_view>

#include "basalt/view.hpp"

namespace basalt {

/// The lines of a text, one after the other, read in large blocks: for files of gigabytes.
class TextLines {
  public:
    /// Longer lines may come in pieces, each of them longer than this.
    static constexpr std::size_t longest = 65536;

    /// `in` must outlive this.
    explicit TextLines(std::istream& in);

    /// Moves to the next line; false where there is none. LF and CRLF end a line, the last one needs no end.
    bool next();

    /// The line without its end; valid until the next call of next().
    std::string_view line() const { return line_; }

    /// Number of the line, from 1; after the last one, that of the line that would follow.
    Index number() const { return number_; }

    /// Whether reading stopped because of an error, not at the end of the text.
    bool failed() const { return failed_; }

  private:
    void refill();

    std::istream& in_;
    std::unique_ptr<char[]> block_;  // not set to zero: it is used as far as it is read
    std::size_t begin_ = 0;          // [begin_, end_) of the block is not used yet
    std::size_t end_ = 0;
    bool at_end_ = false;
    bool failed_ = false;
    bool over_ = false;
    std::string_view line_;
    Index number_ = 0;
};

}  // namespace basalt
