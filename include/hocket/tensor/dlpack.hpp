// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <functional>
#include <hocket/tensor/tensor.hpp>

struct DLManagedTensor;  // of dlpack.h; this header needs only the name

namespace hocket {

/// Runs the closure it is given, soon and once, on a thread that may call the producer.
using deleter_runner = std::function<void(std::function<void()>)>;

/// Shares a tensor with a consumer of DLPack, which calls the result's deleter when done.
/// Throws errc::leased while an op holds the storage: await `released()` first.
[[nodiscard]] DLManagedTensor* to_dlpack(tensor const& t);

/// Takes a tensor over from a producer of DLPack. Its deleter is called exactly once, when the
/// last reference to the storage goes: through `run_deleter`, or without one on that thread. A
/// reference of an operation goes on its group's executor, never on a progress thread.
/// Throws errc::invalid_argument or errc::unsupported for what has no counterpart here; then the
/// producer's tensor is untouched and still the caller's.
[[nodiscard]] tensor from_dlpack(DLManagedTensor* managed, deleter_runner run_deleter = {});

}  // namespace hocket
