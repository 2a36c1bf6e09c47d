// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "svg_picture.hpp"

#include <fmt/format.h>

#include <iterator>

#include "standard_output.hpp"

namespace hocket::tools {
namespace {

// XML has no way to write most control characters.
std::string escaped(std::string_view words) {
  std::string out;
  for (char const c : as_utf8(words)) {
    if (c == '&')
      out += "&amp;";
    else if (c == '<')
      out += "&lt;";
    else if (c == '>')
      out += "&gt;";
    else
      out += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  }
  return out;
}

}  // namespace

void svg_picture::box(point at, point extent, std::string_view fill, std::string_view edge,
                      double radius) {
  fmt::format_to(std::back_inserter(body_),
                 "<rect x=\"{:g}\" y=\"{:g}\" width=\"{:g}\" height=\"{:g}\" rx=\"{:g}\" "
                 "fill=\"{}\" stroke=\"{}\"/>\n",
                 at.x, at.y, extent.x, extent.y, radius, fill, edge);
}

void svg_picture::line(point from, point to, std::string_view colour) {
  fmt::format_to(std::back_inserter(body_),
                 "<line x1=\"{:g}\" y1=\"{:g}\" x2=\"{:g}\" y2=\"{:g}\" stroke=\"{}\"/>\n", from.x,
                 from.y, to.x, to.y, colour);
}

void svg_picture::text(point at, std::string_view style, std::string_view words) {
  fmt::format_to(std::back_inserter(body_), "<text x=\"{:g}\" y=\"{:g}\" class=\"{}\">{}</text>\n",
                 at.x, at.y, style, escaped(words));
}

void svg_picture::hint(std::string_view words) {
  fmt::format_to(std::back_inserter(body_), "<g><title>{}</title>\n", escaped(words));
}

void svg_picture::end_hint() { body_ += "</g>\n"; }

std::string svg_picture::finish(point extent, std::string_view style_sheet) const {
  auto const definitions =
      definitions_.empty() ? std::string() : fmt::format("<defs>{}</defs>\n", definitions_);
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" "
      "viewBox=\"0 0 {0:g} {1:g}\" font-family=\"DejaVu Sans, Verdana, sans-serif\">\n"
      "<style>{2}</style>\n{3}"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{4}</svg>\n",
      extent.x, extent.y, style_sheet, definitions, body_);
}

}  // namespace hocket::tools
