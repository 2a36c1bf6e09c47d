// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <string>
#include <string_view>

namespace hocket::tools {

struct point {
  double x = 0;
  double y = 0;
};

/// Collects shapes and text, in pixels from the top left corner, and makes an SVG document of them.
class svg_picture {
 public:
  void box(point at, point extent, std::string_view fill, std::string_view edge, double radius);
  void line(point from, point to, std::string_view colour);
  /// `style` names a class of the style sheet. The words may hold any bytes.
  void text(point at, std::string_view style, std::string_view words);
  /// What is drawn until `end_hint` shows these words under the pointer.
  void hint(std::string_view words);
  void end_hint();
  /// A definition, a pattern say, that a fill may name.
  void define(std::string_view element) { definitions_ += element; }

  [[nodiscard]] std::string finish(point extent, std::string_view style_sheet) const;

 private:
  std::string definitions_;
  std::string body_;
};

}  // namespace hocket::tools
