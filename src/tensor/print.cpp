// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <hocket/tensor/print.hpp>
#include <vector>

#include "dispatch.hpp"

namespace hocket {
namespace {

constexpr std::int64_t shown_max = 1000;
constexpr std::int64_t edge = 3;

template <class T>
std::string element_text(T value) {
  if constexpr (std::is_same_v<T, std::complex<float>> || std::is_same_v<T, std::complex<double>>)
    return fmt::format("{}{:+}i", value.real(), value.imag());
  else if constexpr (std::is_arithmetic_v<T>)
    return fmt::format("{}", value);
  else
    return fmt::format("{}", static_cast<float>(value));
}

class printer {
 public:
  explicit printer(tensor const& t) : t_(t), summarised_(t.numel() > shown_max) {
    texts_.reserve(static_cast<std::size_t>(std::min(t.numel(), shown_max)));
    collect(0, 0);
    for (auto const& text : texts_) width_ = std::max(width_, text.size());
  }

  std::string text() {
    write(0);
    return std::move(out_);
  }

 private:
  // The first index that is left out, and the next one that is shown.
  std::pair<std::int64_t, std::int64_t> gap(std::size_t dim) const {
    auto const extent = t_.shape()[dim];
    if (!summarised_ || extent <= 2 * edge) return {extent, extent};
    return {edge, extent - edge};
  }

  void collect(std::size_t dim, std::int64_t offset) {
    if (dim == t_.ndim()) {
      texts_.push_back(detail::with_element_type(
          t_.dtype(), [&]<class T>() { return element_text(t_.const_data<T>()[offset]); }));
      return;
    }
    auto const [from, to] = gap(dim);
    for (std::int64_t i = 0; i < t_.shape()[dim]; ++i) {
      if (i == from) i = to;
      collect(dim + 1, offset + i * t_.strides()[dim]);
    }
  }

  void write(std::size_t dim) {
    if (dim == t_.ndim()) {
      out_ += fmt::format("{:>{}}", texts_[next_++], width_);
      return;
    }
    bool const innermost = dim + 1 == t_.ndim();
    auto const separator = [&] {
      if (innermost) return std::string(", ");
      return "," + std::string(t_.ndim() - dim - 1, '\n') + std::string(dim + 1, ' ');
    }();
    auto const [from, to] = gap(dim);
    out_ += '[';
    for (std::int64_t i = 0; i < t_.shape()[dim]; ++i) {
      if (i > 0) out_ += separator;
      if (i == from) {
        out_ += "..." + separator;
        i = to;
      }
      write(dim + 1);
    }
    out_ += ']';
  }

  tensor const& t_;
  bool summarised_;
  std::vector<std::string> texts_;
  std::size_t width_ = 0;
  std::size_t next_ = 0;
  std::string out_;
};

}  // namespace

std::string to_string(tensor const& t) {
  if (!t.defined()) return "undefined";
  if (!t.device().is_host()) return fmt::format("{} on {}", brief(t), to_string(t.device()));
  if (t.ndim() > 0 && t.numel() == 0) return fmt::format("[] {}", brief(t));
  return fmt::format("{} {}", printer(t).text(), brief(t));
}

}  // namespace hocket
