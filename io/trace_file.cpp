#include "io/trace_file.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <ostream>
#include <string_view>

#include <fmt/format.h>

namespace basalt {

namespace {

constexpr std::size_t flush_size = 1 << 20;

/// Length of the well-formed UTF-8 sequence that starts `text`, 0 where there is none.
/// Overlong forms, surrogates and numbers above U+10FFFF are not well-formed: JSON readers refuse them.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(0);
    const std::size_t length = lead < 0x80   ? 1
                               : lead < 0xc2 ? 0
                               : lead < 0xe0 ? 2
                               : lead < 0xf0 ? 3
                               : lead < 0xf5 ? 4
                                             : 0;
    if (length == 0 || length > text.size()) return 0;
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(i) & 0xc0) != 0x80) return 0;
    }
    if (lead == 0xe0 && byte(1) < 0xa0) return 0;
    if (lead == 0xed && byte(1) > 0x9f) return 0;
    if (lead == 0xf0 && byte(1) < 0x90) return 0;
    if (lead == 0xf4 && byte(1) > 0x8f) return 0;
    return length;
}

/// Builds the file in one buffer that is handed on whenever it is large: a document tree of 10^6 tasks would
/// take longer to build than the run it describes.
class TraceWriter {
  public:
    explicit TraceWriter(std::ostream& out) : out_(out) {}
    ~TraceWriter() { flush(); }
    TraceWriter(const TraceWriter&) = delete;
    TraceWriter& operator=(const TraceWriter&) = delete;

    void row_name(std::size_t row, std::string_view name);
    void event(const TraceEvent& event, std::int64_t origin_ns);
    void raw(std::string_view text) { buffer_.append(text); }

  private:
    void separate() {
        if (buffer_.size() > flush_size) flush();
        raw(first_ ? "\n" : ",\n");
        first_ = false;
    }
    void string(std::string_view text);
    void microseconds(std::int64_t nanoseconds) {
        fmt::format_to(std::back_inserter(buffer_), "{}.{:03}", nanoseconds / 1000, nanoseconds % 1000);
    }
    void flush() {
        out_.write(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
        buffer_.clear();
    }

    std::ostream& out_;
    fmt::memory_buffer buffer_;
    bool first_ = true;
};

void TraceWriter::string(std::string_view text) {
    buffer_.push_back('"');
    while (!text.empty()) {
        const char c = text.front();
        const auto byte = static_cast<unsigned char>(c);
        const std::size_t length = utf8_length(text);
        if (c == '"' || c == '\\') {
            buffer_.push_back('\\');
            buffer_.push_back(c);
        } else if (byte < 0x20 || length == 0) {
            fmt::format_to(std::back_inserter(buffer_), "\\u{:04x}", byte);
        } else {
            buffer_.append(text.substr(0, length));
        }
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    buffer_.push_back('"');
}

void TraceWriter::row_name(std::size_t row, std::string_view name) {
    separate();
    fmt::format_to(std::back_inserter(buffer_),
                   R"({{"ph":"M","pid":0,"tid":{},"name":"thread_name","args":{{"name":)", row);
    string(name);
    raw("}},\n");
    // Without an index the viewers order rows by name, and "worker 10" comes before "worker 2".
    fmt::format_to(std::back_inserter(buffer_),
                   R"({{"ph":"M","pid":0,"tid":{0},"name":"thread_sort_index","args":{{"sort_index":{0}}}}})",
                   row);
}

void TraceWriter::event(const TraceEvent& event, std::int64_t origin_ns) {
    separate();
    fmt::format_to(std::back_inserter(buffer_), R"({{"ph":"X","pid":0,"tid":{},"ts":)", event.row);
    microseconds(event.begin_ns - origin_ns);
    raw(R"(,"dur":)");
    microseconds(std::max<std::int64_t>(event.end_ns - event.begin_ns, 0));
    raw(R"(,"name":)");
    string(event.name);
    raw(R"(,"args":{)");
    if (!event.detail.empty()) {
        raw(R"("tiles":)");
        string(event.detail);
        raw(",");
    }
    fmt::format_to(std::back_inserter(buffer_), R"("priority":{}}}}})", event.priority);
}

}  // namespace

void write_chrome_trace(std::ostream& out, const Trace& trace) {
    std::int64_t origin_ns = std::numeric_limits<std::int64_t>::max();
    for (const auto& event : trace.events) origin_ns = std::min(origin_ns, event.begin_ns);
    TraceWriter writer(out);
    writer.raw(R"({"displayTimeUnit":"ns","traceEvents":[)");
    for (std::size_t row = 0; row < trace.rows.size(); ++row) writer.row_name(row, trace.rows[row].name);
    for (const auto& event : trace.events) writer.event(event, origin_ns);
    writer.raw("\n]}\n");
}

}  // namespace basalt
