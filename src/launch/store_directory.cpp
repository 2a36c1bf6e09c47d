// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "store_directory.hpp"

#include <exception>
#include <hocket/async/op_options.hpp>
#include <string>
#include <utility>

namespace hocket {

std::string store_directory::key(int rank) { return "at/" + std::to_string(rank); }

void store_directory::find(int rank, found then) {
  store_->get(key(rank), op_options().deadline(clock::duration::max()))(
      [then = std::move(then)](std::exception_ptr e, std::string const& text) {
        try {
          if (e) std::rethrow_exception(e);
          then(host::decode_place(text), {});
        } catch (std::exception const& x) {
          then({}, x.what());
        }
      });
}

}  // namespace hocket
