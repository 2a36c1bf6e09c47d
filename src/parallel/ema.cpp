// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <cmath>
#include <hocket/error.hpp>
#include <hocket/parallel/ema.hpp>
#include <hocket/tensor/copy.hpp>

#include "ema_kernel.hpp"

namespace hocket {
namespace {

using list = std::vector<state_tensor>;

bool is_real(dtype t) {
  return t == dtype::f32 || t == dtype::f64 || t == dtype::f16 || t == dtype::bf16;
}

bool same_place(state_tensor const& a, state_tensor const& b) {
  if (a.sharded().has_value() != b.sharded().has_value()) return false;
  if (a.local().shape() != b.local().shape()) return false;
  if (!a.sharded()) return true;
  return a.shape() == b.shape() && a.sharded()->where() == b.sharded()->where() &&
         a.sharded()->mesh().layout() == b.sharded()->mesh().layout();
}

[[noreturn]] void refuse(char const* call, std::size_t i, std::string const& why) {
  throw error(errc::invalid_argument, fmt::format("{}: parameter {}: {}", call, i, why));
}

void expect_pairs(char const* call, list const& source, list const& target) {
  if (source.size() != target.size())
    throw error(errc::invalid_argument, fmt::format("{}: {} source and {} target parameters", call,
                                                    source.size(), target.size()));
  for (std::size_t i = 0; i < source.size(); ++i)
    if (!same_place(source[i], target[i]))
      refuse(call, i, fmt::format("source {}, target {}", brief(source[i]), brief(target[i])));
}

template <class F>
void with_real(dtype t, F const& f) {
  if (t == dtype::f32) return f(float{});
  if (t == dtype::f64) return f(double{});
  if (t == dtype::f16) return f(float16{});
  return f(bfloat16{});
}

// Rounds through f32 unless both are f64, which never meet here.
void convert(tensor const& target, tensor const& source) {
  auto const out = target.is_contiguous() ? target : target.clone();
  auto const in = source.contiguous();
  with_real(out.dtype(), [&]<class To>(To) {
    with_real(in.dtype(), [&]<class From>(From) {
      auto* const to = out.data<To>();
      auto const* const from = in.const_data<From>();
      for (std::int64_t i = 0; i < out.numel(); ++i)
        to[i] = static_cast<To>(static_cast<float>(from[i]));
    });
  });
  if (!out.same_object(target)) copy(target, out);
}

void average(detail::ema_kernel const& kernel, tensor const& target, tensor const& source,
             float rest) {
  auto const out = target.is_contiguous() ? target : target.clone();
  auto const in = source.contiguous();
  auto const n = out.numel();
  auto* const to = out.data<float>();
  if (in.dtype() == dtype::f32) kernel.from_f32(to, in.const_data<float>(), n, rest);
  if (in.dtype() == dtype::f16) kernel.from_f16(to, in.const_data<float16>(), n, rest);
  if (in.dtype() == dtype::bf16) kernel.from_bf16(to, in.const_data<bfloat16>(), n, rest);
  if (!out.same_object(target)) copy(target, out);
}

}  // namespace

void DTensorFastEmaModelUpdater::copy_to(list const& source, list const& target) const {
  expect_pairs("copy_to", source, target);
  for (std::size_t i = 0; i < source.size(); ++i) {
    auto const from = source[i].local().dtype();
    auto const to = target[i].local().dtype();
    if (from != to && !(is_real(from) && is_real(to)))
      refuse("copy_to", i, fmt::format("{} into {}", name_of(from), name_of(to)));
  }
  for (std::size_t i = 0; i < source.size(); ++i) {
    auto const& from = source[i].local();
    auto const& to = target[i].local();
    if (to.shares_storage(from) && to.same_object(from)) continue;
    if (from.dtype() == to.dtype()) {
      copy(to, from);
    } else {
      convert(to, from);
    }
  }
}

void DTensorFastEmaModelUpdater::update_average(list const& source, list const& target,
                                                double beta) const {
  if (!(beta >= 0 && beta <= 1))
    throw error(errc::invalid_argument,
                fmt::format("update_average: beta {} is not in 0..1", beta));
  expect_pairs("update_average", source, target);
  for (std::size_t i = 0; i < source.size(); ++i) {
    auto const from = source[i].local().dtype();
    auto const to = target[i].local().dtype();
    if (to != dtype::f32)
      refuse("update_average", i,
             fmt::format("an average is kept in f32 only, this one is {}", name_of(to)));
    if (from != dtype::f32 && from != dtype::f16 && from != dtype::bf16)
      refuse("update_average", i,
             fmt::format("the source is {}, not f32, f16 or bf16", name_of(from)));
    if (source[i].local().overlaps(target[i].local()))
      refuse("update_average", i, "source and target overlap");
  }
  if (beta == 0) return copy_to(source, target);
  auto const& kernel = detail::ema_kernels().front();
  for (std::size_t i = 0; i < source.size(); ++i)
    average(kernel, target[i].local(), source[i].local(), static_cast<float>(1 - beta));
}

void DTensorFastEmaModelUpdater::cache(list const& parameters, bool is_cpu) {
  if (kept_)
    throw error(
        errc::already_initialized,
        fmt::format("cache: a copy of {} parameters is kept; restore it first", kept_->size()));
  static_cast<void>(is_cpu);  // tensors that can be cloned here are in host memory
  std::vector<tensor> copies;
  copies.reserve(parameters.size());
  for (auto const& p : parameters) copies.push_back(p.local().clone());
  kept_ = std::move(copies);
}

void DTensorFastEmaModelUpdater::restore(list const& parameters) {
  if (!kept_)
    throw error(errc::not_initialized, "restore: no copy of the parameters is kept: cache first");
  if (kept_->size() != parameters.size())
    throw error(errc::invalid_argument, fmt::format("restore: {} parameters, but {} are kept",
                                                    parameters.size(), kept_->size()));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    auto const& p = parameters[i].local();
    auto const& k = (*kept_)[i];
    if (p.shape() != k.shape() || p.dtype() != k.dtype())
      refuse("restore", i, fmt::format("{}, but {} is kept", brief(p), brief(k)));
  }
  for (std::size_t i = 0; i < parameters.size(); ++i) copy(parameters[i].local(), (*kept_)[i]);
  kept_.reset();
}

double ema_beta(std::int64_t iteration, double rate) {
  if (!(rate > 0 && rate < 0.2886))
    throw error(errc::invalid_argument, fmt::format("ema_beta: rate {} is not in 0..0.2886", rate));
  if (iteration < 1) return 0;
  double const inverse = 1 / (rate * rate);
  // Right of the largest root the cubic is convex and rising: Newton's steps fall to it.
  double x = inverse;
  for (int i = 0; i < 200; ++i) {
    double const f = ((x + 7) * x + 16 - inverse) * x + 12 - inverse;
    double const slope = (3 * x + 14) * x + 16 - inverse;
    double const next = x - f / slope;
    if (!(next < x)) break;
    x = next;
  }
  return std::pow(1 - 1 / (static_cast<double>(iteration) + 1), x + 1);
}

}  // namespace hocket
