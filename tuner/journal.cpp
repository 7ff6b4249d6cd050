#include "tuner/journal.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <limits>
#include <numeric>
#include <stdexcept>

#include <basalt/error.hpp>

#include "io/files/json_text.hpp"
#include "io/files/small_file.hpp"

namespace basalt::tuner {

namespace {

constexpr const char* journal_kind = "basalt tune";
constexpr std::size_t largest_journal = std::size_t{1} << 30;
constexpr std::array outcome_names{"not compiled", "spilled", "not launched", "wrong", "timed"};
constexpr std::array relaxed_names{"sqrt", "div", "ftz"};

JsonRecord to_json(const JournalHead& head) {
    return {{"journal", journal_kind},
            {"device", head.device},
            {"architecture", head.architecture},
            {"matrices", head.matrices}};
}

JsonRecord to_json(const Problem& problem) {
    return {{"routine", name_of(problem.routine)},
            {"job", name_of(problem.job)},
            {"precision", std::string(1, letter_of(problem.precision))},
            {"n", problem.n}};
}

JsonRecord to_json(const Problem& problem, const SpaceCounts& counts) {
    JsonRecord json = to_json(problem);
    json["generated"] = counts.generated;
    for (int reason = 0; reason < pruned_reasons; ++reason) {
        json["pruned"][name_of(static_cast<Pruned>(reason))] = counts.pruned[static_cast<std::size_t>(reason)];
    }
    return json;
}

JsonRecord to_json(const Finding& finding) {
    const Candidate& candidate = finding.candidate;
    JsonRecord json = to_json(finding.problem);
    json["residence"] = name_of(candidate.residence);
    json["width"] = candidate.width;
    json["threads"] = candidate.threads;
    json["bound"] = candidate.bound;
    json["resident_blocks"] = candidate.resident_blocks;
    json["relaxed"] = JsonRecord::array();
    const Arithmetic& relaxed = candidate.arithmetic;
    const std::array set{relaxed.approximate_roots, relaxed.approximate_quotients, relaxed.denormals_to_zero};
    for (std::size_t i = 0; i < set.size(); ++i) {
        if (set[i]) json["relaxed"].push_back(relaxed_names[i]);
    }
    json["outcome"] = name_of(finding.outcome);
    json["registers"] = finding.registers;
    json["spill_bytes"] = finding.spill_bytes;
    json["shared_bytes"] = finding.shared_bytes;
    if (finding.outcome >= Outcome::wrong) json["ratio"] = finding.ratio;
    if (finding.outcome == Outcome::timed) json["seconds"] = finding.seconds;
    if (!finding.error.empty()) json["error"] = finding.error;
    return json;
}

template <class Value>
Value require_value(const std::optional<Value>& value, const char* key) {
    if (!value) throw std::runtime_error(std::string("an unknown value of \"") + key + '"');
    return *value;
}

Problem problem_of(const JsonRecord& json) {
    const std::string precision = json.at("precision");
    if (precision != "s" && precision != "d") throw std::runtime_error("an unknown value of \"precision\"");
    return {require_value(routine_named(json.at("routine")), "routine"),
            require_value(job_named(json.at("job")), "job"), precision == "s" ? Precision::single : Precision::twice,
            json.at("n")};
}

SpaceCounts counts_of(const JsonRecord& json) {
    SpaceCounts counts{.generated = json.at("generated")};
    for (int reason = 0; reason < pruned_reasons; ++reason) {
        counts.pruned[static_cast<std::size_t>(reason)] = json.at("pruned").at(name_of(static_cast<Pruned>(reason)));
    }
    return counts;
}

Finding finding_of(const JsonRecord& json) {
    Finding finding;
    finding.problem = problem_of(json);
    finding.candidate = {require_value(residence_named(json.at("residence")), "residence"), json.at("width"),
                         json.at("threads"), json.at("bound"), json.at("resident_blocks")};
    for (const std::string name : json.at("relaxed")) {
        Arithmetic& relaxed = finding.candidate.arithmetic;
        (name == relaxed_names[0]   ? relaxed.approximate_roots
         : name == relaxed_names[1] ? relaxed.approximate_quotients
                                    : relaxed.denormals_to_zero) = true;
    }
    const std::string outcome = json.at("outcome");
    const auto* const known = std::find(outcome_names.begin(), outcome_names.end(), outcome);
    if (known == outcome_names.end()) throw std::runtime_error("an unknown value of \"outcome\"");
    finding.outcome = static_cast<Outcome>(known - outcome_names.begin());
    finding.registers = json.at("registers");
    finding.spill_bytes = json.at("spill_bytes");
    finding.shared_bytes = json.at("shared_bytes");
    if (finding.outcome >= Outcome::wrong) {
        const JsonRecord& ratio = json.at("ratio");  // JSON has no infinity
        finding.ratio = ratio.is_null() ? std::numeric_limits<double>::infinity() : ratio.get<double>();
    }
    if (finding.outcome == Outcome::timed) finding.seconds = json.at("seconds");
    finding.error = json.value("error", std::string());
    return finding;
}

std::string key_of(const Problem& problem, const Candidate& candidate) {
    return name_of(problem) + ", " + name_of(candidate);
}

void read_line(const std::string& line, bool first, JournalContents& contents) {
    const JsonRecord json = parse_json(line);
    if (first) {
        if (json.at("journal") != journal_kind) throw std::runtime_error("no journal of basalt tune");
        contents.head = {json.at("device"), json.at("architecture"), json.at("matrices")};
    } else if (json.contains("outcome")) {
        contents.findings.push_back(finding_of(json));
    } else {
        contents.spaces.emplace_back(problem_of(json), counts_of(json));
    }
}

/// The whole lines of a journal.
JournalContents read_lines(const std::string& path, const std::string& text) {
    JournalContents contents;
    int number = 0;
    for (std::size_t begin = 0, end = 0; (end = text.find('\n', begin)) != std::string::npos; begin = end + 1) {
        ++number;
        try {
            read_line(text.substr(begin, end - begin), number == 1, contents);
        } catch (const std::exception& error) {
            throw UsageError(path + ", line " + std::to_string(number) +
                             ": no journal of basalt tune: " + error.what());
        }
    }
    if (number == 0) throw UsageError(path + ": no journal of basalt tune: it has no whole line");
    for (std::size_t i = 0; i < contents.findings.size(); ++i) {
        contents.index[key_of(contents.findings[i].problem, contents.findings[i].candidate)] = i;
    }
    return contents;
}

}  // namespace

const char* name_of(Outcome outcome) { return outcome_names[static_cast<std::size_t>(outcome)]; }

int SpaceCounts::remaining() const { return generated - std::accumulate(pruned.begin(), pruned.end(), 0); }

const Finding* JournalContents::find(const Problem& problem, const Candidate& candidate) const {
    const auto found = index.find(key_of(problem, candidate));
    return found == index.end() ? nullptr : &findings[found->second];
}

JournalContents read_journal(const std::string& path) {
    try {
        const std::optional<std::string> text = read_small_file(path, largest_journal, FileKind::any);
        if (!text) throw std::runtime_error("there is no such file");
        return read_lines(path, *text);
    } catch (const UsageError&) {
        throw;
    } catch (const std::runtime_error& error) {
        throw UsageError(path + ": " + error.what());
    }
}

Journal::Journal(const std::string& path, const JournalHead& head) {
    const std::optional<std::string> text = read_small_file(path, largest_journal, FileKind::regular);
    const std::size_t whole = text ? text->rfind('\n') + 1 : 0;  // 0 where there is no whole line
    if (whole > 0) {
        before_ = read_lines(path, *text);
        if (before_.head != head) {
            throw UsageError(path + ": a journal of " + before_.head.device + " with batches of " +
                             std::to_string(before_.head.matrices) + " matrices; this is " + head.device + " with " +
                             std::to_string(head.matrices));
        }
    } else if (text && !text->empty() && text->front() != '{') {
        throw UsageError(path + ": no journal of basalt tune");
    }
    if (text && whole < text->size()) std::filesystem::resize_file(path, whole);
    writer_.emplace(path, std::cout);
    if (whole == 0) writer_->write(to_json(head));
    before_.head = head;
}

void Journal::add(const Finding& finding) { writer_->write(to_json(finding)); }

void Journal::add(const Problem& problem, const SpaceCounts& counts) {
    const std::pair own{problem, counts};
    if (std::find(before_.spaces.begin(), before_.spaces.end(), own) == before_.spaces.end()) {
        writer_->write(to_json(problem, counts));
    }
}

}  // namespace basalt::tuner
