#include "io/trace/trace_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <concepts>
#include <limits>
#include <ostream>
#include <string>
#include <string_view>

#include "base/utf8.hpp"

namespace basalt {

namespace {

constexpr std::size_t flush_size = 1 << 20;

/// Builds the text in a buffer and writes it out whenever the buffer is large. A document tree of 10^6 tasks would take
/// longer to build than the run took.
class TraceWriter {
  public:
    explicit TraceWriter(std::ostream& out) : out_(out) {}
    ~TraceWriter() { flush(); }
    TraceWriter(const TraceWriter&) = delete;
    TraceWriter& operator=(const TraceWriter&) = delete;

    void row(std::size_t index, const TraceRow& row);
    void event(const TraceEvent& event, std::int64_t origin_ns);
    void span(const TraceSpan& span, std::int64_t origin_ns);
    void counter(const TraceCounter& counter, std::int64_t origin_ns);
    void raw(std::string_view text) { buffer_.append(text); }

  private:
    void separate() {
        if (buffer_.size() > flush_size) flush();
        raw(first_ ? "\n" : ",\n");
        first_ = false;
    }
    void arguments(const TraceEvent& event);
    void string(std::string_view text);
    void escaped(std::string_view text);
    void number(std::integral auto value) {
        std::array<char, 24> digits;
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        buffer_.append(digits.data(), end);
    }
    void microseconds(std::int64_t nanoseconds);
    void bar(int row, std::int64_t begin_ns, std::int64_t end_ns);
    void flush() {
        out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
        buffer_.clear();
    }

    std::ostream& out_;
    std::string buffer_;
    bool first_ = true;
};

void TraceWriter::microseconds(std::int64_t nanoseconds) {
    number(nanoseconds / 1000);
    const auto rest = static_cast<int>(nanoseconds % 1000);
    if (rest == 0) return;
    const std::array<char, 4> decimals = {'.', static_cast<char>('0' + rest / 100),
                                          static_cast<char>('0' + rest / 10 % 10), static_cast<char>('0' + rest % 10)};
    buffer_.append(decimals.data(), decimals.size());
}

void TraceWriter::string(std::string_view text) {
    const auto is_plain = [](char c) { return 0x20 <= c && c < 0x7f && c != '"' && c != '\\'; };
    buffer_ += '"';
    if (std::all_of(text.begin(), text.end(), is_plain)) {
        raw(text);
    } else {
        escaped(text);
    }
    buffer_ += '"';
}

void TraceWriter::escaped(std::string_view text) {
    constexpr std::string_view hex = "0123456789abcdef";
    while (!text.empty()) {
        const char c = text.front();
        const auto byte = static_cast<unsigned char>(c);
        const std::size_t length = utf8_length(text);
        if (c == '"' || c == '\\') {
            buffer_ += '\\';
            buffer_ += c;
        } else if (byte < 0x20 || length == 0) {
            raw("\\u00");
            buffer_ += hex[byte / 16];
            buffer_ += hex[byte % 16];
        } else {
            raw(text.substr(0, length));
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
}

std::string_view name_of(TraceRowKind kind) {
    constexpr std::array<std::string_view, 5> names = {"cpu", "compute", "copy", "block", "thread"};
    return names[static_cast<std::size_t>(kind)];
}

void TraceWriter::row(std::size_t index, const TraceRow& row) {
    separate();
    raw(R"({"ph":"M","pid":0,"tid":)");
    number(index);
    raw(R"(,"name":"thread_name","args":{"name":)");
    string(row.name);
    raw(R"(,"kind":")");
    raw(name_of(row.kind));
    raw("\"");
    if (row.device) {
        raw(R"(,"device":)");
        number(*row.device);
    }
    raw("}}");
    // Without an index, viewers sort the rows by name: "worker 10" before "worker 2".
    separate();
    raw(R"({"ph":"M","pid":0,"tid":)");
    number(index);
    raw(R"(,"name":"thread_sort_index","args":{"sort_index":)");
    number(index);
    raw("}}");
}

/// The begin of a complete event; times since the origin.
void TraceWriter::bar(int row, std::int64_t begin_ns, std::int64_t end_ns) {
    separate();
    raw(R"({"ph":"X","pid":0,"tid":)");
    number(row);
    raw(R"(,"ts":)");
    microseconds(begin_ns);
    raw(R"(,"dur":)");
    microseconds(std::max<std::int64_t>(end_ns - begin_ns, 0));
    raw(R"(,"name":)");
}

void TraceWriter::span(const TraceSpan& span, std::int64_t origin_ns) {
    bar(span.row, span.begin_ns - origin_ns, span.end_ns - origin_ns);
    string(span.name);
    raw(R"(,"args":{"kind":"span"}})");
}

void TraceWriter::counter(const TraceCounter& counter, std::int64_t origin_ns) {
    if (!std::isfinite(counter.value)) return;  // JSON has no such numbers
    separate();
    raw(R"({"ph":"C","pid":0,"ts":)");
    microseconds(counter.time_ns - origin_ns);
    raw(R"(,"name":)");
    string(counter.name);
    raw(R"(,"args":{"value":)");
    std::array<char, 32> digits;
    buffer_.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), counter.value).ptr);
    raw("}}");
}

void TraceWriter::event(const TraceEvent& event, std::int64_t origin_ns) {
    bar(event.row, event.begin_ns - origin_ns, event.end_ns - origin_ns);
    string(event.name);
    raw(R"(,"args":{)");
    arguments(event);
    raw("}}");
}

void TraceWriter::arguments(const TraceEvent& event) {
    raw(R"("priority":)");
    number(event.priority);
    if (!event.detail.empty()) {
        raw(R"(,"tiles":)");
        string(event.detail);
    }
    if (event.kind == TraceKind::copy) raw(R"(,"kind":"copy")");
    if (event.step) {
        raw(R"(,"step":)");
        number(*event.step);
    }
    if (event.bytes != 0) {
        raw(R"(,"bytes":)");
        number(event.bytes);
    }
    if (event.id != 0) {
        raw(R"(,"id":)");
        number(event.id);
    }
    if (event.after.empty()) return;
    raw(R"(,"after":)");
    char before = '[';
    for (const std::uint64_t id : event.after) {
        buffer_ += before;
        number(id);
        before = ',';
    }
    raw("]");
}

}  // namespace

void write_chrome_trace(std::ostream& out, const Trace& trace) {
    std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
    for (const auto& event : trace.events) origin_ns = std::min(origin_ns, event.begin_ns);
    for (const auto& span : trace.spans) origin_ns = std::min(origin_ns, span.begin_ns);
    for (const auto& counter : trace.counters) origin_ns = std::min(origin_ns, counter.time_ns);
    TraceWriter writer(out);
    writer.raw(R"({"displayTimeUnit":"ns","traceEvents":[)");
    for (std::size_t row = 0; row < trace.rows.size(); ++row) writer.row(row, trace.rows[row]);
    for (const auto& event : trace.events) writer.event(event, origin_ns);
    for (const auto& span : trace.spans) writer.span(span, origin_ns);
    for (const auto& counter : trace.counters) writer.counter(counter, origin_ns);
    writer.raw("\n]}\n");
}

}  // namespace basalt
