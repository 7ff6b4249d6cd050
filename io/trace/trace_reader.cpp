#include "io/trace/trace_reader.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/files/json_text.hpp"
#include "io/files/quoted_text.hpp"
#include "io/trace/trace_source.hpp"

namespace basalt {

namespace {

using nlohmann::json;

enum class Key : std::uint8_t {
    other,
    trace_events,
    phase,
    process,
    thread,
    begin,
    duration,
    name,
    args,
    kind,
    device,
    tiles,
    priority,
    step,
    bytes,
    id,
    after,
    value
};

struct KeyName {
    std::string_view text;
    Key key;
};
constexpr std::array<KeyName, 17> key_names = {{{"ph", Key::phase},
                                                {"pid", Key::process},
                                                {"tid", Key::thread},
                                                {"ts", Key::begin},
                                                {"dur", Key::duration},
                                                {"name", Key::name},
                                                {"args", Key::args},
                                                {"tiles", Key::tiles},
                                                {"priority", Key::priority},
                                                {"kind", Key::kind},
                                                {"step", Key::step},
                                                {"bytes", Key::bytes},
                                                {"id", Key::id},
                                                {"after", Key::after},
                                                {"value", Key::value},
                                                {"device", Key::device},
                                                {"traceEvents", Key::trace_events}}};

Key key_of(std::string_view text) {
    const auto* found =
        std::find_if(key_names.begin(), key_names.end(), [&](const KeyName& known) { return known.text == text; });
    return found == key_names.end() ? Key::other : found->key;
}

/// A number from the parser: an integer of 64 bits, with or without a sign, or another number.
struct Number {
    std::optional<std::int64_t> whole;
    std::optional<std::uint64_t> natural;
    double value = 0;
};

/// One object of "traceEvents", whose phase may be its last key.
struct RawEvent {
    TraceEvent event;
    std::string phase;
    std::string kind;  // of the event or of the row
    std::string row_name;
    std::int64_t process = 0;
    std::optional<std::int64_t> thread;
    std::optional<double> begin_us;
    std::optional<double> duration_us;
    std::optional<int> device;
    std::optional<double> value;  // of a counter
};

/// Builds the trace from the events of the parser.
class TraceBuilder final : public nlohmann::json_sax<json> {
  public:
    TraceBuilder(const TraceSource& source, const std::string& name) : source_(source), name_(name) {}

    Trace take();

    bool null() override { return true; }
    bool boolean(bool) override { return true; }
    bool number_integer(number_integer_t value) override {
        return number({value, std::nullopt, static_cast<double>(value)});
    }
    bool number_unsigned(number_unsigned_t value) override {
        constexpr auto most = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
        const auto whole = value <= most ? std::optional(static_cast<std::int64_t>(value)) : std::nullopt;
        return number({whole, value, static_cast<double>(value)});
    }
    bool number_float(number_float_t value, const string_t&) override {
        return number({std::nullopt, std::nullopt, value});
    }
    bool string(string_t& text) override;
    bool binary(binary_t&) override { return true; }
    bool start_object(std::size_t) override;
    bool start_array(std::size_t) override;
    bool key(string_t& text) override {
        key_ = key_of(text);
        return true;
    }
    bool end_object() override;
    bool end_array() override;
    bool parse_error(std::size_t, const std::string&, const json::exception& error) override;

  private:
    enum class Place : std::uint8_t { top, events, event, args, after, skipped };

    Place place() const { return places_.empty() ? Place::top : places_.back(); }
    bool number(Number value);
    void number_of_event(Number value);
    void number_of_args(Number value);
    std::int64_t whole(Number value, std::string_view what, std::int64_t low, std::int64_t high) const;
    std::uint64_t natural(Number value, std::string_view what) const;
    void require_plain(std::string_view found) const;
    void finish_event();
    void describe_row();
    void add_event();
    void add_counter();
    int row_of(std::int64_t process, std::int64_t thread);
    std::int64_t nanoseconds(const std::optional<double>& microseconds, std::string_view what) const;
    [[noreturn]] void refuse_text(std::string_view what, std::string_view text) const {
        fail(fmt::format("{} = {}; allowed: a number", what, quoted_text(text)));
    }
    [[noreturn]] void fail(const std::string& reason) const {
        throw TraceFileError(fmt::format("{}:{}: byte {}: {}", name_, source_.line(), source_.offset(), reason));
    }

    const TraceSource& source_;
    const std::string& name_;
    Trace trace_;
    std::map<std::pair<std::int64_t, std::int64_t>, int> rows_;  // by process and thread
    std::vector<Place> places_;
    Key key_ = Key::other;
    RawEvent raw_;
    bool saw_events_ = false;
};

Trace TraceBuilder::take() {
    if (!saw_events_) fail("no \"traceEvents\": not a trace");
    return std::move(trace_);
}

// --- structure ---------------------------------------------------------------------------------------------

bool TraceBuilder::start_object(std::size_t) {
    if (places_.empty()) {
        places_.push_back(Place::top);
    } else if (place() == Place::events) {
        places_.push_back(Place::event);
        raw_ = {};
    } else if (place() == Place::event && key_ == Key::args) {
        places_.push_back(Place::args);
    } else {
        require_plain("an object");
        places_.push_back(Place::skipped);
    }
    key_ = Key::other;
    return true;
}

bool TraceBuilder::start_array(std::size_t) {
    if (places_.empty() || (place() == Place::top && key_ == Key::trace_events)) {
        places_.push_back(Place::events);
        saw_events_ = true;
    } else if (place() == Place::args && key_ == Key::after) {
        places_.push_back(Place::after);
    } else {
        require_plain("an array");
        places_.push_back(Place::skipped);
    }
    return true;
}

bool TraceBuilder::end_object() {
    if (place() == Place::event) finish_event();
    places_.pop_back();
    key_ = Key::other;
    return true;
}

bool TraceBuilder::end_array() {
    places_.pop_back();
    key_ = Key::other;
    return true;
}

/// Throws if an object or an array is where the trace format has a plain value.
void TraceBuilder::require_plain(std::string_view found) const {
    const bool known = (place() == Place::event || place() == Place::args) && key_ != Key::other;
    if (place() == Place::events || place() == Place::after || known) fail(fmt::format("{} where none can be", found));
}

// --- values ------------------------------------------------------------------------------------------------

bool TraceBuilder::number(Number value) {
    if (places_.empty()) return true;  // the whole document is a number: take() throws
    switch (place()) {
        case Place::event: number_of_event(value); break;
        case Place::args: number_of_args(value); break;
        case Place::after: raw_.event.after.push_back(natural(value, "after")); break;
        case Place::events: fail("a number in \"traceEvents\"; allowed: objects");
        case Place::top:
        case Place::skipped: break;
    }
    return true;
}

void TraceBuilder::number_of_event(Number value) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    switch (key_) {
        case Key::process: raw_.process = whole(value, "pid", -most, most); break;
        case Key::thread: raw_.thread = whole(value, "tid", -most, most); break;
        case Key::begin: raw_.begin_us = value.value; break;
        case Key::duration: raw_.duration_us = value.value; break;
        case Key::name: fail("name is a number; allowed: a string");
        case Key::phase: fail("ph is a number; allowed: a string");
        default: break;
    }
}

void TraceBuilder::number_of_args(Number value) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    constexpr auto most_int = std::numeric_limits<int>::max();
    TraceEvent& event = raw_.event;
    switch (key_) {
        case Key::priority:
            event.priority = static_cast<int>(whole(value, "priority", -most_int - 1LL, most_int));
            break;
        case Key::step: event.step = static_cast<int>(whole(value, "step", 0, most_int)); break;
        case Key::value: raw_.value = value.value; break;
        case Key::device: raw_.device = static_cast<int>(whole(value, "device", 0, most_int)); break;
        case Key::bytes: event.bytes = whole(value, "bytes", 0, most); break;
        case Key::id: event.id = natural(value, "id"); break;
        case Key::after: fail("after is a number; allowed: an array of ids");
        case Key::kind: fail("kind is a number; allowed: a string");
        default: break;
    }
}

bool TraceBuilder::string(string_t& text) {
    if (place() == Place::event) {
        switch (key_) {
            case Key::phase: raw_.phase = std::move(text); break;
            case Key::name: raw_.event.name = std::move(text); break;
            case Key::begin: refuse_text("ts", text);
            case Key::duration: refuse_text("dur", text);
            case Key::thread: refuse_text("tid", text);
            case Key::process: refuse_text("pid", text);
            default: break;
        }
    } else if (place() == Place::args) {
        switch (key_) {
            case Key::tiles: raw_.event.detail = std::move(text); break;
            case Key::kind: raw_.kind = std::move(text); break;
            case Key::name: raw_.row_name = std::move(text); break;
            case Key::step: refuse_text("step", text);
            case Key::bytes: refuse_text("bytes", text);
            default: break;
        }
    } else if (place() == Place::after) {
        refuse_text("after", text);
    } else if (place() == Place::events) {
        fail("a string in \"traceEvents\"; allowed: objects");
    }
    return true;
}

std::int64_t TraceBuilder::whole(Number value, std::string_view what, std::int64_t low, std::int64_t high) const {
    if (value.whole && low <= *value.whole && *value.whole <= high) return *value.whole;
    fail(fmt::format("{} = {}; allowed: a whole number from {} to {}", what, value.value, low, high));
}

std::uint64_t TraceBuilder::natural(Number value, std::string_view what) const {
    if (value.natural) return *value.natural;
    fail(fmt::format("{} = {}; allowed: a whole number from 0 to 2^64 - 1", what, value.value));
}

// --- events ------------------------------------------------------------------------------------------------

void TraceBuilder::finish_event() {
    if (raw_.phase == "X") {
        add_event();
    } else if (raw_.phase == "C") {
        add_counter();
    } else if (raw_.phase == "M" && raw_.event.name == "thread_name") {
        describe_row();
    } else if (raw_.phase.empty()) {
        fail("an event without ph, its phase");
    }
}

void TraceBuilder::describe_row() {
    if (!raw_.thread) fail("a thread's name without tid");
    TraceRow& row = trace_.rows[static_cast<std::size_t>(row_of(raw_.process, *raw_.thread))];
    row.name = std::move(raw_.row_name);
    row.device = raw_.device;
    if (raw_.kind == "compute") {
        row.kind = TraceRowKind::compute;
    } else if (raw_.kind == "copy") {
        row.kind = TraceRowKind::copy;
    } else if (raw_.kind == "block") {
        row.kind = TraceRowKind::block;
    } else if (raw_.kind == "thread") {
        row.kind = TraceRowKind::thread;
    } else if (raw_.kind == "cpu" || raw_.kind.empty()) {
        row.kind = TraceRowKind::cpu;
    } else {
        fail(fmt::format("kind = {} of a row; allowed: cpu, compute, copy, block, thread", quoted_text(raw_.kind)));
    }
    if (row.kind != TraceRowKind::cpu && row.kind != TraceRowKind::thread && !row.device)
        fail(fmt::format("kind = {} of a row without device, the number of its GPU", quoted_text(raw_.kind)));
}

void TraceBuilder::add_event() {
    if (!raw_.thread) fail("an event without tid, its row");
    TraceEvent& event = raw_.event;
    event.row = row_of(raw_.process, *raw_.thread);
    event.begin_ns = nanoseconds(raw_.begin_us, "ts");
    const std::int64_t duration = nanoseconds(raw_.duration_us, "dur");
    if (duration < 0) fail(fmt::format("dur = {}; allowed: 0 and more", *raw_.duration_us));
    event.end_ns = event.begin_ns + duration;
    if (raw_.kind == "span") {
        trace_.spans.push_back({std::move(event.name), event.row, event.begin_ns, event.end_ns});
        return;
    }
    if (raw_.kind == "copy") {
        event.kind = TraceKind::copy;
    } else if (raw_.kind != "task" && !raw_.kind.empty()) {
        fail(fmt::format("kind = {} of an event; allowed: task, copy, span", quoted_text(raw_.kind)));
    }
    trace_.events.push_back(std::move(event));
}

/// Counters of other programs may have values of other names, or several; those are left out.
void TraceBuilder::add_counter() {
    if (!raw_.value) return;
    trace_.counters.push_back({std::move(raw_.event.name), nanoseconds(raw_.begin_us, "ts"), *raw_.value});
}

int TraceBuilder::row_of(std::int64_t process, std::int64_t thread) {
    const auto [place, added] = rows_.try_emplace({process, thread}, static_cast<int>(trace_.rows.size()));
    if (added) trace_.rows.push_back({fmt::format("thread {}", thread), TraceRowKind::cpu, -1});
    return place->second;
}

std::int64_t TraceBuilder::nanoseconds(const std::optional<double>& microseconds, std::string_view what) const {
    constexpr double limit = 4e15;  // 126 years: as nanoseconds, twice that still fits in 64 bits
    if (!microseconds) fail(fmt::format("an event without {}", what));
    if (!(std::abs(*microseconds) < limit))
        fail(fmt::format("{} = {}; allowed: microseconds of magnitude below {}", what, *microseconds, limit));
    return std::llround(*microseconds * 1000);
}

bool TraceBuilder::parse_error(std::size_t, const std::string&, const json::exception& error) {
    fail(json_error_reason(error.what()));
}

}  // namespace

Trace read_chrome_trace(std::istream& in, const std::string& name) {
    TraceSource source(in);
    TraceBuilder builder(source, name);
    json::sax_parse(TraceSourceIterator{&source}, TraceSourceIterator{}, &builder);
    return builder.take();
}

}  // namespace basalt
