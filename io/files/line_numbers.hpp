#pragma once

#include <charconv>
#include <string_view>

namespace basalt {

/// The numbers of one line of text, from left to right, separated by blanks and tabs.
class LineNumbers {
  public:
    enum class Found {
        number,
        nothing,    ///< the line is at its end
        other,      ///< a word that is not a number of this type
        too_large,  ///< out of the type's range
    };

    explicit LineNumbers(std::string_view line) : at_(line.data()), end_(line.data() + line.size()) { skip_blanks(); }

    /// Takes the next word. Stores it in `value` if it is a number of type T, integer or floating point. A number that
    /// is too small for T becomes zero.
    template <class T>
    Found take(T& value) {
        word_ = at_;
        const bool plus = at_ != end_ && *at_ == '+';  // from_chars rejects it
        const char* const first = at_ + (plus ? 1 : 0);
        const auto [stop, error] = std::from_chars(first, end_, value);
        if (error == std::errc() && (stop == end_ || is_blank(*stop)) && !(plus && *first == '-')) {
            at_ = stop;
            skip_blanks();
            return Found::number;
        }
        return other_than_number(value);
    }

    /// The word of the latest take().
    std::string_view word() const;

    /// The rest of the line.
    std::string_view rest() const { return {at_, static_cast<std::size_t>(end_ - at_)}; }

  private:
    static bool is_blank(char c) { return c == ' ' || c == '\t'; }

    void skip_blanks() {
        while (at_ != end_ && is_blank(*at_)) ++at_;
    }

    template <class T>
    Found other_than_number(T& value);

    const char* at_;
    const char* end_;
    const char* word_ = nullptr;
};

}  // namespace basalt
