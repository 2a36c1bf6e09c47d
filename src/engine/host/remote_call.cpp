// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "remote_call.hpp"

#include <hocket/tensor/dtype.hpp>

namespace hocket::host {

std::size_t given::bytes() const {
  return static_cast<std::size_t>(shape.numel()) * size_of(dtype);
}

void remote_call::name() {
  op_info& info = mutable_info();
  info.operation = name_of(asked.print.kind);
  info.group = group_.c_str();
  info.channel = asked.channel;
  info.sequence = asked.sequence;
}

}  // namespace hocket::host
