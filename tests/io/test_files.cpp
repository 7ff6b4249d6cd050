// Files of all kinds as io/files/ reads and writes them, and the standard streams.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/files/atomic_file.hpp"
#include "io/files/json_text.hpp"
#include "io/files/output_file.hpp"
#include "io/files/quoted_text.hpp"
#include "io/files/small_file.hpp"
#include "io/files/standard_streams.hpp"
#include "tests/common/catch.hpp"
#include "tests/common/mentions.hpp"
#include "tests/common/temporary_folder.hpp"

using basalt::FileKind;
using basalt::OutputFile;
using basalt::read_small_file;
using basalt_tests::TemporaryFolder;

namespace {

std::string error_of(const std::function<void()>& call) { return basalt_tests::error_of<std::runtime_error>(call); }

bool mentions(const std::string& text, std::initializer_list<const char*> parts) {
    return std::all_of(parts.begin(), parts.end(),
                       [&](const char* part) { return basalt_tests::mentions(text, part); });
}

bool exists(const std::string& path) {
    struct stat status {};
    return lstat(path.c_str(), &status) == 0;
}

/// The exit status of a child process that runs `body`.
int status_of_child(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("an output keeps the old contents until something is written") {
    const TemporaryFolder folder;
    const std::string path = folder.path("out");
    folder.write("out", "precious");
    { const OutputFile unused(path, OutputFile::Contents::replaced); }
    CHECK(folder.read("out") == "precious");
    {
        OutputFile out(path, OutputFile::Contents::replaced);
        out << "new";
        out.finish();
        out << "er";
        out.finish();
    }
    CHECK(folder.read("out") == "newer");
    {
        OutputFile out(path, OutputFile::Contents::appended);
        out << std::string(200000, 'x');
        out.finish();
    }
    CHECK(folder.read("out") == "newer" + std::string(200000, 'x'));
    OutputFile emptied(path, OutputFile::Contents::replaced);
    emptied.finish();
    CHECK(folder.read("out").empty());
}

TEST_CASE("an output that was not there is removed again if nothing is written") {
    const TemporaryFolder folder;
    {
        const OutputFile out(folder.path("new"), OutputFile::Contents::replaced);
        CHECK(exists(folder.path("new")));
    }
    CHECK_FALSE(exists(folder.path("new")));
    folder.write("empty", "");
    { const OutputFile out(folder.path("empty"), OutputFile::Contents::appended); }
    CHECK(exists(folder.path("empty")));
    {
        const OutputFile out(folder.path("filled by another"), OutputFile::Contents::replaced);
        folder.write("filled by another", "text");
    }
    CHECK(folder.read("filled by another") == "text");
    REQUIRE(symlink("target", folder.path("link").c_str()) == 0);
    { const OutputFile out(folder.path("link"), OutputFile::Contents::replaced); }
    CHECK(exists(folder.path("link")));
}

TEST_CASE("an output that cannot be opened or written says why") {
    const TemporaryFolder folder;
    const auto open = [](const std::string& path) {
        return error_of([&] { OutputFile(path, OutputFile::Contents::replaced); });
    };
    CHECK(open("/nowhere/at/all") == "/nowhere/at/all: No such file or directory");
    CHECK(open(folder.path("")) == folder.path("") + ": Is a directory");
    OutputFile full("/dev/full", OutputFile::Contents::replaced);
    for (int i = 0; i < 2; ++i) {  // after a failure it is as good as before
        full << std::string(i == 0 ? 3 : 300000, 'x');
        CHECK(error_of([&] { full.finish(); }) == "/dev/full: No space left on device");
        CHECK(full.good());
    }
    full.finish();
}

TEST_CASE("the file size limit is an error and no signal") {
    const TemporaryFolder folder;
    CHECK(status_of_child([&] {
              basalt::ignore_file_size_signal();
              const rlimit limit{5, 5};
              if (setrlimit(RLIMIT_FSIZE, &limit) != 0) return 1;
              OutputFile out(folder.path("out"), OutputFile::Contents::replaced);
              out << "0123456789";
              try {
                  out.finish();
              } catch (const std::system_error& error) {
                  return error.code().value() == EFBIG ? 0 : 2;
              }
              return 3;
          }) == 0);
    CHECK(folder.read("out") == "01234");
}

TEST_CASE("a closed standard stream leaves its number to no file, and stays unusable") {
    const TemporaryFolder folder;
    for (const int closed : {0, 1, 2}) {
        INFO(closed);
        CHECK(status_of_child([&] {
                  for (int stream = 0; stream <= closed; ++stream) close(stream);
                  basalt::reserve_standard_streams();
                  const int file = open(folder.path("out").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
                  if (file <= 2) return 1;
                  char byte = 0;
                  if (closed == 0 && read(0, &byte, 1) >= 0) return 2;
                  if (closed >= 1 && write(1, "lost", 4) >= 0) return 3;
                  if (closed == 2 && write(2, "lost", 4) >= 0) return 4;
                  return 0;
              }) == 0);
        CHECK(folder.read("out").empty());
    }
    CHECK(status_of_child([&] {  // streams that are open stay unchanged
              const int file = open(folder.path("out").c_str(), O_RDWR | O_CREAT | O_TRUNC, 0644);
              if (dup2(file, 1) != 1) return 1;
              basalt::reserve_standard_streams();
              return write(1, "kept", 4) == 4 ? 0 : 2;
          }) == 0);
    CHECK(folder.read("out") == "kept");
}

TEST_CASE("small files are read whole, and what is no such file is refused") {
    const TemporaryFolder folder;
    folder.write("text", std::string(100000, 'x'));
    CHECK(read_small_file(folder.path("text"), 100000, FileKind::regular) == std::string(100000, 'x'));
    CHECK(read_small_file(folder.path("none"), 10, FileKind::regular) == std::nullopt);
    const auto refusal = [&](const std::string& path, FileKind kind) {
        return error_of([&] { read_small_file(path, 99999, kind); });
    };
    CHECK(refusal(folder.path("text"), FileKind::regular) == "has more than 99999 bytes");
    CHECK(refusal(folder.path(""), FileKind::any) == "is a folder");
    CHECK(refusal("/dev/zero", FileKind::any) == "has more than 99999 bytes");
    CHECK(refusal("/dev/zero", FileKind::regular) == "is a device");
    REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);
    CHECK(refusal(folder.path("pipe"), FileKind::regular) == "is a pipe");
    CHECK(refusal(folder.path("text") + "/in/it", FileKind::any) == "Not a directory");
}

TEST_CASE("files are replaced through links, and nothing but files is replaced") {
    const TemporaryFolder folder;
    folder.write("a", "old");
    REQUIRE(chmod(folder.path("a").c_str(), 0604) == 0);
    REQUIRE(symlink("b", folder.path("c").c_str()) == 0);
    REQUIRE(symlink(folder.path("a").c_str(), folder.path("b").c_str()) == 0);
    basalt::write_file_atomically(folder.path("c"), "new");
    CHECK(folder.read("a") == "new");
    struct stat status {};
    REQUIRE(lstat(folder.path("c").c_str(), &status) == 0);
    CHECK(S_ISLNK(status.st_mode));
    REQUIRE(stat(folder.path("a").c_str(), &status) == 0);
    CHECK((status.st_mode & 07777) == 0604);
    REQUIRE(symlink("loop", folder.path("loop").c_str()) == 0);
    REQUIRE(mkfifo(folder.path("pipe").c_str(), 0600) == 0);
    const auto refusal = [&](const std::string& path) {
        return error_of([&] { basalt::write_file_atomically(path, "x"); });
    };
    CHECK(mentions(refusal(folder.path("loop")), {"loop", "symbolic links"}));
    CHECK(mentions(refusal(folder.path("pipe")), {"pipe", "is not a regular file"}));
    CHECK(mentions(refusal(folder.path("no/such/folder")), {"no/such/folder", "No such file"}));
    CHECK(folder.files() == 5);
}

TEST_CASE("JSON that is damaged, deep or huge is refused in a few words with its line") {
    const auto refusal = [](const std::string& text) { return error_of([&] { basalt::parse_json(text); }); };
    CHECK(basalt::parse_json("{\"a\": [1, {\"b\": null}]}")["a"][0] == 1);
    CHECK(mentions(refusal("{\n\n\"a\": what}"), {"line 3: no JSON: syntax error", "near", "w\""}));
    CHECK(mentions(refusal(""), {"line 1: no JSON", "end of input"}));
    CHECK(basalt::parse_json(std::string(60, '[') + std::string(60, ']')).is_array());
    for (const std::string& deep : {std::string(1000000, '['), std::string(1000000, '[') + std::string(1000000, ']')}) {
        CHECK(mentions(refusal(deep), {"more than 64 deep"}));
    }
    for (const std::string& huge : {'"' + std::string(3000000, 'x'), std::string(3000000, 'x'),
                                    std::string(3000000, '1'), "[1" + std::string(3000000, ' ') + "2]"}) {
        CHECK(refusal(huge).size() > 5);
        CHECK(refusal(huge).size() < 200);
    }
    CHECK(basalt::short_json(basalt::parse_json('"' + std::string(3000000, 'x') + '"')).size() < 110);
}

TEST_CASE("text is cut between characters") {
    CHECK(basalt::cut_text("short") == "short");
    CHECK(basalt::cut_text(std::string(200, 'x')) == std::string(100, 'x') + "...");
    CHECK(basalt::cut_text(std::string(99, 'x') + "\u00e9" + std::string(99, 'x')) == std::string(99, 'x') + "...");
}
