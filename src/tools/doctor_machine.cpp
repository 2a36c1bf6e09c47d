// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <unistd.h>

#include <charconv>
#include <fstream>
#include <optional>
#include <sstream>

#include "finding.hpp"

namespace hocket::tools {
namespace {

finding look_at_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  auto const online = ::sysconf(_SC_NPROCESSORS_ONLN);
  int const usable = ::sched_getaffinity(0, sizeof allowed, &allowed) == 0
                         ? CPU_COUNT(&allowed)
                         : static_cast<int>(online);
  return {"cores",
          "cores",
          fmt::format("{} of {} may be used; more ranks than that take turns", usable, online),
          {{"usable", usable}, {"online", online}}};
}

// The path of this process's control group: of version 2, or of the version 1 that has cpu.
std::string group_path(bool version2) {
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    auto const first = line.find(':');
    auto const second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    auto const controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    bool const fits =
        version2 ? controllers == ",," : controllers.find(",cpu,") != std::string::npos;
    if (fits) return line.substr(second + 1);
  }
  return {};
}

std::optional<double> quota(std::string const& used, std::string const& period) {
  double a = 0;
  double b = 0;
  if (std::from_chars(used.data(), used.data() + used.size(), a).ec != std::errc() || a <= 0 ||
      std::from_chars(period.data(), period.data() + period.size(), b).ec != std::errc() || b <= 0)
    return std::nullopt;  // "max", -1, or no such file
  return a / b;
}

std::optional<double> quota_of(std::string const& folder, bool version2) {
  if (!version2)
    return quota(first_line(folder + "/cpu.cfs_quota_us"),
                 first_line(folder + "/cpu.cfs_period_us"));
  std::istringstream both(first_line(folder + "/cpu.max"));
  std::string used;
  std::string period;
  both >> used >> period;
  return quota(used, period);
}

// The tightest limit of the group and those that it is in.
std::optional<double> cpu_limit() {
  std::optional<double> least;
  for (bool const version2 : {true, false}) {
    std::string const root = version2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    for (auto path = group_path(version2);; path.erase(path.rfind('/'))) {
      auto const here = quota_of(root + path, version2);
      if (here && (!least || *here < *least)) least = here;
      if (path.find('/') == std::string::npos) break;
    }
  }
  return least;
}

finding look_at_cpu_limit() {
  auto const limit = cpu_limit();
  finding f{"cpu_limit", "limit of CPU time", "", {}};
  f.text =
      limit ? fmt::format("{:.2f} cores, by the control group: beyond it all ranks pause", *limit)
            : "none by the control group";
  f.facts["cores"] = limit ? boost::json::value(*limit) : boost::json::value();
  return f;
}

unsigned long long memory_line(std::string const& name) {
  std::ifstream info("/proc/meminfo");
  for (std::string line; std::getline(info, line);) {
    if (!line.starts_with(name + ":")) continue;
    unsigned long long n = 0;
    std::istringstream(line.substr(name.size() + 1)) >> n;
    return n;
  }
  return 0;
}

finding look_at_huge_pages() {
  auto const all = memory_line("HugePages_Total");
  auto const free = memory_line("HugePages_Free");
  auto const bytes = memory_line("Hugepagesize") * 1024;
  auto const transparent = first_line("/sys/kernel/mm/transparent_hugepage/enabled");
  auto const begin = transparent.find('[');
  auto const mode = begin == std::string::npos
                        ? std::string("not there")
                        : transparent.substr(begin + 1, transparent.find(']') - begin - 1);
  return {"huge_pages",
          "huge pages",
          fmt::format("{} reserved of {}, {} free; transparent ones: {}", all, bytes_text(bytes),
                      free, mode),
          {{"total", all}, {"free", free}, {"page_bytes", bytes}, {"transparent", mode}}};
}

// `get_version` is the name of int f(int*) in the library.
finding look_at_library(char const* key, char const* label, char const* file,
                        char const* get_version) {
  finding f{key, label, "", {{"library", file}}};
  void* const library = ::dlopen(file, RTLD_NOW | RTLD_LOCAL);
  f.facts["present"] = library != nullptr;
  if (library == nullptr) {
    char const* const why = ::dlerror();
    f.text = fmt::format("not present ({}); this version moves host memory only",
                         why == nullptr ? file : why);
    return f;
  }
  int version = 0;
  auto const ask = reinterpret_cast<int (*)(int*)>(::dlsym(library, get_version));
  if (ask != nullptr && ask(&version) == 0) f.facts["version"] = version;
  f.text =
      fmt::format("{} is present, version {}; this version moves host memory only", file, version);
  return f;  // stays loaded: some drivers do not bear to be unloaded
}

}  // namespace

std::vector<finding> examine_machine() {
  return {look_at_cores(), look_at_cpu_limit(), look_at_huge_pages(),
          look_at_library("cuda", "CUDA driver", "libcuda.so.1", "cuDriverGetVersion"),
          look_at_library("nccl", "NCCL", "libnccl.so.2", "ncclGetVersion")};
}

std::string bytes_text(unsigned long long bytes) {
  constexpr char const* units[] = {"bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024; ++unit) value /= 1024;
  return fmt::format("{:.{}f} {}", value,
                     value == static_cast<double>(static_cast<long>(value)) ? 0 : 1, units[unit]);
}

std::string first_line(std::string const& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

}  // namespace hocket::tools
