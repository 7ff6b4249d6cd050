// What most tests include, parsed once. A test still includes what it uses: it must compile without this.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <basalt/array.hpp>
#include <basalt/graph.hpp>
#include <basalt/runtime.hpp>

#include "tests/common/catch.hpp"
