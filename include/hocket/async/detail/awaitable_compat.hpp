// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/version.hpp>
#include <exception>
#include <utility>

// Boost 1.81 (Asio 1.26) cannot await an operation whose signature is void(std::exception_ptr, T):
// its handler tests the pointer to the exception_ptr instead of the exception_ptr. The partial
// specialisation below is more specialised than Asio's for exactly these signatures.
#if BOOST_ASIO_VERSION <= 102600
namespace boost::asio::detail {

template <typename T, typename Executor>
class awaitable_async_op_handler<void(std::exception_ptr, T), Executor>
    : public awaitable_thread<Executor> {
 public:
  struct result_type {
    std::exception_ptr* exception;
    T* value;
  };
  awaitable_async_op_handler(awaitable_thread<Executor>* from, result_type& result)
      : awaitable_thread<Executor>(std::move(*from)), result_(result) {}

  void operator()(std::exception_ptr exception, T value) {
    result_.exception = &exception;
    result_.value = &value;
    this->entry_point()->top_of_stack_->attach_thread(this);
    this->entry_point()->top_of_stack_->clear_cancellation_slot();
    this->pump();
  }
  static T resume(result_type& result) {
    if (*result.exception) std::rethrow_exception(std::exchange(*result.exception, nullptr));
    return std::move(*result.value);
  }

 private:
  result_type& result_;
};

}  // namespace boost::asio::detail
#endif
