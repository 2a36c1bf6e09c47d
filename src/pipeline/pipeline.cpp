// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <hocket/error.hpp>
#include <hocket/op_info.hpp>
#include <hocket/pipeline/pipeline.hpp>
#include <utility>

#include "parallel/parallel_core.hpp"
#include "pipeline_core.hpp"

namespace hocket {

namespace {

detail::pipeline_places places_of(ParallelState const& state, pipeline_options const& options,
                                  std::source_location site) {
  detail::pipeline_places p;
  p.stages = state.pp_group();
  p.peers = options.peers().value_or(state.tp_cp_group());
  p.executor = state.core()->executor;
  p.site = site;
  return p;
}

detail::pipeline_places places_of(process_group const& stages, pipeline_options const& options,
                                  std::source_location site) {
  detail::pipeline_places p;
  p.stages = stages;
  p.peers = options.peers().value_or(process_group());
  p.executor = stages.get_executor();
  p.site = site;
  return p;
}

stage_function callable(stage_function f, std::source_location site) {
  if (!f)
    throw error(errc::invalid_argument,
                fmt::format("the pipeline at {} has no stage function", to_string(site)));
  return f;
}

}  // namespace

pipeline::pipeline(ParallelState const& state, stage_function f, pipeline_options const& options,
                   std::source_location site)
    : core_(std::make_shared<detail::pipeline_core>(places_of(state, options, site),
                                                    callable(std::move(f), site), options)) {}

pipeline::pipeline(process_group const& stages, stage_function f, pipeline_options const& options,
                   std::source_location site)
    : core_(std::make_shared<detail::pipeline_core>(places_of(stages, options, site),
                                                    callable(std::move(f), site), options)) {}

pipeline::~pipeline() { core_->abandon(); }

work<tensor> pipeline::submit(tensor x, submit_options const& options, std::source_location site) {
  return core_->submit(std::move(x), options, site);
}
void pipeline::close() { core_->close_later(); }
boost::asio::awaitable<void> pipeline::run() { return core_->run(); }
pipeline_report pipeline::report() const { return core_->report(); }

double pipeline_report::bubble() const noexcept {
  auto const whole = static_cast<double>(elapsed.count());
  return whole > 0 ? std::max(0.0, 1.0 - static_cast<double>(busy.count()) / whole) : 0.0;
}

std::uint64_t stage_request::id() const noexcept { return item_->id; }
int stage_request::priority() const noexcept { return item_->priority; }
std::string const& stage_request::note() const noexcept { return item_->note; }
int stage_request::stage() const noexcept { return core_->stage(); }
int stage_request::stages() const noexcept { return core_->stages(); }
bool stage_request::is_cancelled() const noexcept {
  return item_->is_cancelled.load(std::memory_order_relaxed);
}
process_group const& stage_request::peers() const noexcept { return item_->peers; }

work<> stage_request::skip_to(int stage, tensor t, std::source_location site) const {
  return core_->skip_to(*item_, stage, std::move(t), site);
}
work<tensor> stage_request::skip_from(int stage, std::source_location site) const {
  return core_->skip_from(*item_, stage, site);
}

}  // namespace hocket
