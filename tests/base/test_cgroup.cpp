#include <filesystem>
#include <fstream>
#include <string>

#include <stdlib.h>

#include "base/cgroup.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;

namespace {

/// A folder that stands for "/", filled file by file and removed at the end.
class FakeRoot {
  public:
    FakeRoot() {
        std::string name = "/tmp/basalt-test-XXXXXX";
        root_ = std::string(mkdtemp(name.data())) + "/";
    }
    ~FakeRoot() { std::filesystem::remove_all(root_); }
    FakeRoot(const FakeRoot&) = delete;
    FakeRoot& operator=(const FakeRoot&) = delete;

    FakeRoot& file(const std::string& path, const std::string& text) {
        const std::filesystem::path full = root_ + path;
        std::filesystem::create_directories(full.parent_path());
        std::ofstream(full) << text;
        return *this;
    }
    CgroupLimits limits() const { return read_cgroup_limits(root_); }

  private:
    std::string root_;
};

}  // namespace

TEST_CASE("without control groups there is no limit") {
    const FakeRoot root;
    CHECK_FALSE(root.limits().cpus);
    CHECK_FALSE(root.limits().memory_bytes);
    CHECK_FALSE(root.limits().memory_left);
}

TEST_CASE("a version 2 group limits cores and memory") {
    FakeRoot root;
    root.file("proc/self/cgroup", "0::/job\n")
        .file("sys/fs/cgroup/job/cpu.max", "150000 100000\n")
        .file("sys/fs/cgroup/job/memory.max", "1000000\n")
        .file("sys/fs/cgroup/job/memory.current", "300000\n")
        .file("sys/fs/cgroup/job/memory.stat", "anon 200000\nfile 100000\ninactive_file 50000\n");
    const CgroupLimits limits = root.limits();
    CHECK(limits.cpus == 1.5);
    CHECK(limits.memory_bytes == 1000000u);
    CHECK(limits.memory_left == 750000u);  // page cache that is not in use can go
}

TEST_CASE("the tightest of the groups around a process counts") {
    FakeRoot root;
    root.file("proc/self/cgroup", "0::/outer/inner\n")
        .file("sys/fs/cgroup/outer/memory.max", "500\n")
        .file("sys/fs/cgroup/outer/memory.current", "600\n")
        .file("sys/fs/cgroup/outer/cpu.max", "max 100000\n")
        .file("sys/fs/cgroup/outer/inner/memory.max", "max\n")
        .file("sys/fs/cgroup/outer/inner/memory.current", "1\n")
        .file("sys/fs/cgroup/cpu.max", "400000 100000\n");
    const CgroupLimits limits = root.limits();
    CHECK(limits.memory_bytes == 500u);
    CHECK(limits.memory_left == 0u);
    CHECK(limits.cpus == 4.0);
}

TEST_CASE("a group that the container does not show falls back to the ones it does") {
    FakeRoot root;
    root.file("proc/self/cgroup", "0::/not/shown\n").file("sys/fs/cgroup/memory.max", "4096\n");
    CHECK(root.limits().memory_bytes == 4096u);
}

TEST_CASE("version 1 controllers limit cores and memory, and their largest number is no limit") {
    FakeRoot root;
    root.file("proc/self/cgroup", "5:cpu,cpuacct:/job\n4:memory:/job\n3:cpuset:/\nnonsense\n")
        .file("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n")
        .file("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n")
        .file("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n")
        .file("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n")
        .file("sys/fs/cgroup/memory/job/memory.limit_in_bytes", "8192\n")
        .file("sys/fs/cgroup/memory/job/memory.usage_in_bytes", "2000\n")
        .file("sys/fs/cgroup/memory/job/memory.stat", "cache 9\ntotal_inactive_file 1000\n")
        .file("sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    const CgroupLimits limits = root.limits();
    CHECK(limits.cpus == 0.5);
    CHECK(limits.memory_bytes == 8192u);
    CHECK(limits.memory_left == 7192u);
}
