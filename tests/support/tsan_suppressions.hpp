// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

// Asio counts the references of a shared executor with a fence, which the thread sanitizer does not
// understand: it takes the last owner's delete for a race with the release before it. The same for
// the references of an exception, which the C++ library counts where the sanitizer does not look.
// The kernel maps a new ring of io_uring where another thread's was, unseen by the sanitizer.
extern "C" char const* __tsan_default_suppressions();
extern "C" char const* __tsan_default_suppressions() {
  return "race:boost::asio::execution::detail::shared_target_executor\n"
         "race:std::__exception_ptr::__dest_thunk\n"
         "race:std::__exception_ptr::exception_ptr::_M_release\n"
         "race:hocket::detail::file_reader::read_by_uring\n";
}
