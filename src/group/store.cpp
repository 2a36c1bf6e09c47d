// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <hocket/group/store.hpp>
#include <utility>

namespace hocket {
namespace {

class prefixed_store final : public store {
 public:
  prefixed_store(std::shared_ptr<store> whole, std::string prefix)
      : whole_(std::move(whole)), prefix_(std::move(prefix)) {}

  [[nodiscard]] std::string_view address() const noexcept override { return whole_->address(); }

  work<> set(std::string key, std::string value, op_options const& o, site from) override {
    return whole_->set(prefix_ + key, std::move(value), o, from);
  }
  work<std::string> get(std::string key, op_options const& o, site from) override {
    return whole_->get(prefix_ + key, o, from);
  }
  work<std::int64_t> add(std::string key, std::int64_t amount, op_options const& o,
                         site from) override {
    return whole_->add(prefix_ + key, amount, o, from);
  }
  work<std::string> compare_set(std::string key, std::string expected, std::string desired,
                                op_options const& o, site from) override {
    return whole_->compare_set(prefix_ + key, std::move(expected), std::move(desired), o, from);
  }
  work<bool> check(key_list keys, op_options const& o, site from) override {
    return whole_->check(with_prefix(std::move(keys)), o, from);
  }
  work<> wait(key_list keys, op_options const& o, site from) override {
    return whole_->wait(with_prefix(std::move(keys)), o, from);
  }
  work<bool> erase(std::string key, op_options const& o, site from) override {
    return whole_->erase(prefix_ + key, o, from);
  }

 private:
  [[nodiscard]] key_list with_prefix(key_list keys) const {
    for (auto& key : keys) key.insert(0, prefix_);
    return keys;
  }

  std::shared_ptr<store> const whole_;
  std::string const prefix_;
};

}  // namespace

std::shared_ptr<store> make_prefixed_store(std::shared_ptr<store> whole, std::string prefix) {
  return std::make_shared<prefixed_store>(std::move(whole), std::move(prefix));
}

}  // namespace hocket
