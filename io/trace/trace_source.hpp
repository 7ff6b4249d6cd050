#pragma once

#include <cstddef>
#include <cstdint>
#include <istream>
#include <iterator>
#include <vector>

namespace basalt {

/// The bytes of a stream, read in chunks, with the position of the present one.
class TraceSource {
  public:
    explicit TraceSource(std::istream& in) : in_(in) { refill(); }

    bool at_end() const { return next_ == end_; }
    char current() const { return *next_; }
    void advance() {
        line_ += *next_ == '\n';
        ++offset_;
        if (++next_ == end_) refill();
    }
    std::int64_t line() const { return line_; }
    std::int64_t offset() const { return offset_; }

  private:
    void refill() {
        in_.read(chunk_.data(), static_cast<std::streamsize>(chunk_.size()));
        next_ = chunk_.data();
        end_ = next_ + in_.gcount();
    }

    std::istream& in_;
    std::vector<char> chunk_ = std::vector<char>(std::size_t{1} << 18);
    const char* next_ = nullptr;
    const char* end_ = nullptr;
    std::int64_t line_ = 1;
    std::int64_t offset_ = 0;
};

/// The bytes as an input iterator for the JSON parser. A default-constructed iterator is the end.
struct TraceSourceIterator {
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = char;

    TraceSource* source = nullptr;

    char operator*() const { return source->current(); }
    TraceSourceIterator& operator++() {
        source->advance();
        return *this;
    }
    friend bool operator==(const TraceSourceIterator& a, const TraceSourceIterator& b) {
        return a.ended() == b.ended();
    }
    friend bool operator!=(const TraceSourceIterator& a, const TraceSourceIterator& b) { return !(a == b); }
    bool ended() const { return source == nullptr || source->at_end(); }
};

}  // namespace basalt
