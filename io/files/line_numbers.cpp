#include "io/files/line_numbers.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "basalt/view.hpp"

namespace basalt {

namespace {

/// Whether a decimal number is 1 or more in magnitude. from_chars has accepted `number`.
bool is_large(std::string_view number) {
    const auto e = std::min(number.find_first_of("eE"), number.size());
    const std::string_view digits = number.substr(0, e);
    const auto first = digits.find_first_of("123456789");
    if (first == digits.npos) return false;
    const auto point = std::min(digits.find('.'), digits.size());
    // Digits before the point, counted from the first one that is not 0: 12.5 has 2, 0.01 has -1.
    const Index before_point = static_cast<Index>(point) - static_cast<Index>(first) + (first > point ? 1 : 0);
    if (e == number.size()) return before_point > 0;
    std::string_view text = number.substr(e + 1);
    const bool negative = text.front() == '-';
    if (negative || text.front() == '+') text.remove_prefix(1);
    Index exponent = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (error == std::errc::result_out_of_range) return !negative;
    exponent = std::min(exponent, Index{1} << 40);  // larger than the number of digits of any line
    return before_point + (negative ? -exponent : exponent) > 0;
}

}  // namespace

std::string_view LineNumbers::word() const {
    return {word_, static_cast<std::size_t>(std::find_if(word_, end_, is_blank) - word_)};
}

template <class T>
LineNumbers::Found LineNumbers::other_than_number(T& value) {
    if (at_ == end_) return Found::nothing;
    std::string_view text = word();
    at_ += text.size();
    skip_blanks();
    const bool plus = text.front() == '+';
    if (plus) text.remove_prefix(1);
    if (text.empty() || (plus && text.front() == '-')) return Found::other;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc::result_out_of_range || stop != text.data() + text.size()) return Found::other;
    if constexpr (std::is_floating_point_v<T>) {
        if (!is_large(text)) {
            value = std::copysign(T{0}, text.front() == '-' ? T{-1} : T{1});
            return Found::number;
        }
    }
    return Found::too_large;
}

template LineNumbers::Found LineNumbers::other_than_number(Index&);
template LineNumbers::Found LineNumbers::other_than_number(float&);
template LineNumbers::Found LineNumbers::other_than_number(double&);

}  // namespace basalt
