// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

// Everything a program of ranks uses. Larger programs include what they need.
#include <hocket/async/event.hpp>
#include <hocket/async/op_options.hpp>
#include <hocket/async/promise.hpp>
#include <hocket/async/runtime.hpp>
#include <hocket/async/stream.hpp>
#include <hocket/async/task_group.hpp>
#include <hocket/async/when_all.hpp>
#include <hocket/async/when_any.hpp>
#include <hocket/async/work.hpp>
#include <hocket/error.hpp>
#include <hocket/group/local_world.hpp>
#include <hocket/group/object.hpp>
#include <hocket/group/process_group.hpp>
#include <hocket/group/world.hpp>
#include <hocket/launch/print.hpp>
#include <hocket/log.hpp>
#include <hocket/parallel/context_parallel.hpp>
#include <hocket/parallel/find_split.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <hocket/parallel/parallel_state.hpp>
#include <hocket/pipeline/action.hpp>
#include <hocket/pipeline/checker.hpp>
#include <hocket/pipeline/communication.hpp>
#include <hocket/pipeline/make_schedule.hpp>
#include <hocket/pipeline/pp_scheduler.hpp>
#include <hocket/pipeline/prediction.hpp>
#include <hocket/pipeline/schedule.hpp>
#include <hocket/pipeline/schedule_csv.hpp>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/print.hpp>
#include <hocket/tensor/split_plan.hpp>
#include <hocket/tensor/tensor.hpp>
#include <hocket/topology/rank_grid.hpp>
#include <hocket/version.hpp>
