// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/json/object.hpp>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>

namespace embed {

/// A whole file mapped read-only. The bytes stay where they are until destruction, also across a
/// move. The file must not be cut short meanwhile: its pages are read when they are touched.
class mapped_file {
 public:
  /// Throws `hocket::error` with the system's code if the file cannot be opened or mapped.
  explicit mapped_file(std::filesystem::path const& path);
  mapped_file(mapped_file&& other) noexcept;
  mapped_file& operator=(mapped_file&& other) noexcept;
  ~mapped_file();

  [[nodiscard]] std::span<std::byte const> bytes() const noexcept { return bytes_; }

 private:
  std::span<std::byte const> bytes_;
};

/// The object in a JSON file. Throws `hocket::error`: a system code if the file cannot be read,
/// `errc::corrupt` if it holds anything but one JSON object.
[[nodiscard]] boost::json::object read_json_object(std::filesystem::path const& path);

/// Parses one JSON object; `origin` names the text in the error (`errc::corrupt`).
[[nodiscard]] boost::json::object parse_json_object(std::string_view text, std::string_view origin);

/// Whether the value is an integer in [0, 2^63), written into `out`. A number with a fraction or
/// an exponent is none.
[[nodiscard]] bool read_count(boost::json::value const& value, std::int64_t& out) noexcept;

}  // namespace embed
