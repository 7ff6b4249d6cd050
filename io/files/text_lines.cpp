#include "io/files/text_lines.hpp"

#include <cstring>
#include <istream>

namespace basalt {

namespace {

constexpr std::size_t block_size = 1 << 17;
static_assert(block_size > TextLines::longest);

}  // namespace

TextLines::TextLines(std::istream& in) : in_(in), block_(new char[block_size]) {}

void TextLines::refill() {
    std::memmove(block_.get(), block_.get() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
    in_.read(block_.get() + end_, static_cast<std::streamsize>(block_size - end_));
    end_ += static_cast<std::size_t>(in_.gcount());
    at_end_ = !in_;
    failed_ = in_.bad();
}

bool TextLines::next() {
    const auto find_end = [this] { return std::memchr(block_.get() + begin_, '\n', end_ - begin_); };
    if (over_) return false;
    ++number_;
    const void* found = find_end();
    if (found == nullptr && !at_end_) {
        refill();
        found = find_end();
    }
    const char* const first = block_.get() + begin_;
    const std::size_t size =
        found != nullptr ? static_cast<std::size_t>(static_cast<const char*>(found) - first) : end_ - begin_;
    over_ = found == nullptr && size == 0;
    if (over_) return false;
    begin_ += size + (found != nullptr ? 1 : 0);
    line_ = {first, size};
    if (!line_.empty() && line_.back() == '\r') line_.remove_suffix(1);
    return true;
}

}  // namespace basalt
