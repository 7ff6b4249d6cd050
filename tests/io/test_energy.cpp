#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <thread>

#include <stdlib.h>
#include <unistd.h>

#include "io/energy/energy_meter.hpp"
#include "io/energy/energy_report.hpp"
#include "io/energy/gpu_clocks.hpp"
#include "io/energy/nvml.hpp"
#include "io/energy/rapl.hpp"
#include "tests/common/catch.hpp"

using namespace basalt;

namespace {

namespace fs = std::filesystem;

/// A powercap folder of our own, gone at the end.
class Powercap {
  public:
    Powercap() {
        std::string name = (fs::temp_directory_path() / "basalt-powercap-XXXXXX").string();
        if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
        path_ = name;
    }
    ~Powercap() { fs::remove_all(path_); }
    Powercap(const Powercap&) = delete;
    Powercap& operator=(const Powercap&) = delete;

    const fs::path& path() const { return path_; }
    void add_zone(const std::string& id, const std::string& name, std::uint64_t energy) const {
        fs::create_directory(path_ / id);
        write(path_ / id / "name", name);
        write(path_ / id / "max_energy_range_uj", "1000000000");
        set_energy(id, energy);
    }
    void set_energy(const std::string& id, std::uint64_t energy) const {
        write(path_ / id / "energy_uj", std::to_string(energy));
    }

  private:
    static void write(const fs::path& file, const std::string& text) { std::ofstream(file) << text << '\n'; }
    fs::path path_;
};

EnergyCounters rapl_counters(const Powercap& powercap) {
    EnergyCounters found;
    add_rapl_counters(found, powercap.path());
    return found;
}

EnergyCounters nvml_counters(const std::vector<MeteredGpu>& gpus, const std::string& library = FAKE_NVML_LIBRARY) {
    EnergyCounters found;
    add_nvml_counters(found, gpus, library);
    return found;
}

void set_gpus(const char* gpus) { setenv("FAKE_NVML", gpus, 1); }

/// A counter that a test moves by hand.
EnergyCounter counter_at(const std::string& name, const std::atomic<std::uint64_t>& value, std::uint64_t range = 0) {
    return {name, [&value] { return value.load(); }, range};
}

}  // namespace

TEST_CASE("the packages' counters are found among the zones, parts of packages and the board are not") {
    const Powercap powercap;
    powercap.add_zone("intel-rapl:0", "package-0", 5'000'000);
    powercap.add_zone("intel-rapl:1", "package-1", 7'000'000);
    powercap.add_zone("intel-rapl:2", "psys", 1);
    powercap.add_zone("intel-rapl:0:0", "core", 1);
    powercap.add_zone("intel-rapl-mmio:0", "package-0", 1);
    powercap.add_zone("dtpm", "package-0", 1);
    EnergyMeter meter(rapl_counters(powercap));
    meter.start();
    powercap.set_energy("intel-rapl:0", 5'500'000);
    powercap.set_energy("intel-rapl:1", 9'000'000);
    meter.stop();
    const EnergyReading reading = meter.last();
    REQUIRE(reading.parts.size() == 2);
    CHECK(reading.parts[0].name == "cpu package 0");
    CHECK(reading.parts[0].joules == 0.5);
    CHECK(reading.parts[1].name == "cpu package 1");
    CHECK(reading.parts[1].joules == 2);
    CHECK(reading.joules() == 2.5);
    CHECK(reading.watts() == 2.5 / reading.seconds);
    CHECK(reading.uncounted.empty());
}

TEST_CASE("a package's counter that has wrapped around goes on from its range") {
    const Powercap powercap;
    powercap.add_zone("intel-rapl:0", "package-0", 999'000'000);
    EnergyMeter meter(rapl_counters(powercap));
    meter.start();
    powercap.set_energy("intel-rapl:0", 2'000'000);
    meter.stop();
    CHECK(meter.last().joules() == 3);
}

TEST_CASE("a machine without powercap has an uncounted cpu") {
    EnergyCounters found;
    add_rapl_counters(found, "/no/such/folder");
    CHECK(found.counters.empty());
    REQUIRE(found.uncounted.size() == 1);
    CHECK(found.uncounted[0].name == "cpu");
    CHECK(found.uncounted[0].reason == "no package with RAPL in /no/such/folder");
    CHECK_FALSE(EnergyMeter(found).counts());
}

TEST_CASE("a package whose counter may not be read is named with the reason, the others are counted") {
    const Powercap powercap;
    powercap.add_zone("intel-rapl:0", "package-0", 1);
    powercap.add_zone("intel-rapl:1", "package-1", 1);
    const fs::path secret = powercap.path() / "intel-rapl:0" / "energy_uj";
    std::string why = "Permission denied";
    fs::permissions(secret, fs::perms::none);
    if (geteuid() == 0) {  // may read any file, but no folder as one
        fs::remove(secret);
        fs::create_directory(secret);
        why = "Is a directory";
    }
    const EnergyCounters found = rapl_counters(powercap);
    REQUIRE(found.counters.size() == 1);
    CHECK(found.counters[0].name == "cpu package 1");
    REQUIRE(found.uncounted.size() == 1);
    CHECK(found.uncounted[0].name == "cpu package 0");
    CHECK(found.uncounted[0].reason == secret.string() + ": " + why);
}

TEST_CASE("GPUs are found by their places on the bus, whatever their numbers") {
    set_gpus("0000:1b:00.0=1000 0000:ad:00.0=50000");
    EnergyMeter meter(nvml_counters({{"gpu 0", "0000:ad:00.0"}, {"gpu 1", "0000:1b:00.0"}}));
    meter.start();
    set_gpus("0000:1b:00.0=1250 0000:ad:00.0=58000");
    meter.stop();
    const EnergyReading reading = meter.last();
    REQUIRE(reading.parts.size() == 2);
    CHECK(reading.parts[0].name == "gpu 0");
    CHECK(reading.parts[0].joules == 8);
    CHECK(reading.parts[1].joules == 0.25);
}

TEST_CASE("GPUs without a counter are named, the others are counted") {
    set_gpus("0000:1b:00.0=none 0000:ad:00.0=50000");
    const EnergyCounters found =
        nvml_counters({{"gpu 0", "0000:1b:00.0"}, {"gpu 1", "0000:ad:00.0"}, {"gpu 2", "0000:ff:00.0"}, {"gpu 3", ""}});
    REQUIRE(found.counters.size() == 1);
    CHECK(found.counters[0].name == "gpu 1");
    CHECK(
        uncounted_text(found.uncounted) ==
        "gpu 0 (nvmlDeviceGetTotalEnergyConsumption: Not Supported), gpu 2 (nvmlDeviceGetHandleByPciBusId: Not Found), "
        "gpu 3 (it is emulated)");
}

TEST_CASE("a driver that is not loaded, a missing library and one that is not NVML leave all GPUs uncounted") {
    unsetenv("FAKE_NVML");
    const std::vector<MeteredGpu> gpus = {{"gpu 0", "0000:1b:00.0"}, {"gpu 1", "0000:ad:00.0"}};
    for (const auto& [library, why] :
         {std::pair<const char*, const char*>{FAKE_NVML_LIBRARY, "nvmlInit: Driver Not Loaded"},
          {"libno-such-library.so.1", "libno-such-library.so.1"},
          {"libm.so.6", "nvmlInit_v2"}}) {
        INFO(library);
        const EnergyCounters found = nvml_counters(gpus, library);
        CHECK(found.counters.empty());
        REQUIRE(found.uncounted.size() == 2);
        for (const UncountedPart& part : found.uncounted) CHECK(part.reason.find(why) != std::string::npos);
    }
}

TEST_CASE("the driver tells its version and the clocks of all GPUs, and leaves out what it does not know") {
    set_gpus("0000:1b:00.0=1000 0000:ad:00.0=none");
    const auto state = read_driver_state(FAKE_NVML_LIBRARY);
    REQUIRE(state);
    CHECK(state->version == "580.65.06");
    REQUIRE(state->gpus.size() == 2);
    CHECK(state->gpus[0].model == "NVIDIA H200");
    CHECK(state->gpus[0].sm_mhz == 1980);
    CHECK(state->gpus[0].memory_mhz == 3201);
    CHECK(state->gpus[0].power_limit_watts == 700.0);
    CHECK(state->gpus[1].model == "NVIDIA H200");
    CHECK_FALSE(state->gpus[1].sm_mhz);
    CHECK_FALSE(state->gpus[1].memory_mhz);
    CHECK_FALSE(state->gpus[1].power_limit_watts);
}

TEST_CASE("a machine without a driver, or with another library in its place, has no driver state") {
    unsetenv("FAKE_NVML");
    for (const char* const library : {FAKE_NVML_LIBRARY, "libnosuchlibrary.so.1", "libm.so.6"}) {
        CHECK_FALSE(read_driver_state(library));
    }
}

TEST_CASE("a meter measures its regions alone and adds them up") {
    std::atomic<std::uint64_t> value{100};
    EnergyCounters counters;
    counters.add(counter_at("gpu 0", value));
    EnergyMeter meter(std::move(counters));
    for (const std::uint64_t energy : {3'000'000, 1'000'000}) {
        value += 50'000'000;  // between regions
        meter.start();
        value += energy;
        meter.stop();
        CHECK(meter.last().joules() == static_cast<double>(energy) * 1e-6);
    }
    value += 50'000'000;
    CHECK(meter.total().joules() == 4);
    CHECK(meter.total().seconds >= meter.last().seconds);
}

TEST_CASE("a counter that wraps around several times in a region is looked at in time") {
    constexpr std::uint64_t range = 1000;
    std::atomic<std::uint64_t> value{0}, looks{0};
    EnergyCounters counters;
    counters.counters.push_back({"cpu package 0",
                                 [&] {
                                     ++looks;
                                     return value.load();
                                 },
                                 range});
    EnergyMeter meter(std::move(counters), std::chrono::milliseconds(1));
    meter.start();
    for (int step = 0; step < 10; ++step) {
        value = (value + 600) % range;
        // the look that is under way may have read before
        for (const auto seen = looks.load(); looks.load() < seen + 2;) std::this_thread::yield();
    }
    meter.stop();
    CHECK(meter.last().joules() == Approx(6000e-6));
}

TEST_CASE("a counter that fails while it is in use becomes uncounted, the others go on") {
    std::atomic<std::uint64_t> value{0};
    bool broken = false;
    EnergyCounters counters;
    counters.add(counter_at("gpu 0", value));
    counters.add({"gpu 1", [&]() -> std::uint64_t {
                      if (broken) throw std::runtime_error("fell off the bus");
                      return 0;
                  }});
    EnergyMeter meter(std::move(counters));
    meter.start();
    value = 2'000'000;
    broken = true;
    meter.stop();
    CHECK(meter.last().parts.size() == 1);
    CHECK(meter.total().joules() == 2);
    CHECK(uncounted_text(meter.last().uncounted) == "gpu 1 (fell off the bus)");
}

TEST_CASE("a meter may be taken down in the middle of a region") {
    std::atomic<std::uint64_t> value{0};
    EnergyCounters counters;
    counters.add(counter_at("gpu 0", value));
    EnergyMeter meter(std::move(counters));
    meter.start();
    CHECK(meter.counts());
}

TEST_CASE("a reading is reported in joules, watts and Gflop/s per watt") {
    const EnergyReading reading{2, {{"gpu 0", 900}, {"cpu package 0", 100}}, {{"gpu 1", "it is emulated"}}};
    CHECK(energy_text(reading, 4e12) ==
          "energy 1000.0 J, 500.0 W, 4.00 Gflop/s per W (gpu 0 900.0 J, cpu package 0 100.0 J)");
    CHECK(
        to_json(reading, 4e12).dump() ==
        R"({"seconds":2.0,"joules":1000.0,"watts":500.0,"gflops_per_watt":4.0,)"
        R"("parts":[{"name":"gpu 0","joules":900.0,"watts":450.0},{"name":"cpu package 0","joules":100.0,"watts":50.0}],)"
        R"("uncounted":[{"name":"gpu 1","reason":"it is emulated"}]})");
}
