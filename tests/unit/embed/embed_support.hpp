// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <stdlib.h>

#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/value.hpp>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <hocket/error.hpp>
#include <iterator>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "tiny_model.hpp"

namespace embed_test {

/// A new directory that goes with all it holds.
class scratch_directory {
 public:
  scratch_directory() {
    std::string name = (std::filesystem::temp_directory_path() / "hocket-embed-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no directory " + name);
    path_ = name;
  }
  scratch_directory(scratch_directory const&) = delete;
  scratch_directory& operator=(scratch_directory const&) = delete;
  ~scratch_directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }

  [[nodiscard]] std::filesystem::path const& path() const { return path_; }

  std::filesystem::path write(std::string_view name, std::string_view content) const {
    std::filesystem::path file = path_ / name;
    std::ofstream(file, std::ios::binary)
        .write(content.data(), static_cast<std::streamsize>(content.size()));
    return file;
  }

 private:
  std::filesystem::path path_;
};

/// A directory with a tiny model in it.
class tiny_directory : public scratch_directory {
 public:
  explicit tiny_directory(embed::tiny_model_options const& options = {}) {
    embed::write_tiny_model(path(), options);
  }
};

/// The records of embed_reference.json.
inline boost::json::array read_reference() {
  std::ifstream in(HOCKET_TEST_DATA "/embed_reference.json", std::ios::binary);
  std::string const text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  return boost::json::parse(text).as_array();
}

/// The largest distance of two elements; infinite for different sizes or where one is no number.
inline double max_abs_difference(std::span<float const> a, std::span<float const> b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double worst = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const distance = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    if (!(distance >= 0)) return std::numeric_limits<double>::infinity();
    worst = std::max(worst, distance);
  }
  return worst;
}

/// The error that a call throws; a code of 0 and no text if it throws none.
template <class Call>
hocket::error error_of(Call call) {
  try {
    call();
  } catch (hocket::error const& e) {
    return e;
  }
  return hocket::error(boost::system::error_code(), "");
}

}  // namespace embed_test
