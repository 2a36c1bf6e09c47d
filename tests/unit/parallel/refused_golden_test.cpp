// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <golden.hpp>
#include <hocket/parallel/model_parallel.hpp>
#include <ranks.hpp>
#include <set>
#include <string>

#include "programs.hpp"

using namespace hocket;
namespace asio = boost::asio;
namespace json = boost::json;

namespace {

json::object const* record = nullptr;  // of the program that runs
bool accepted = false;

int int_of(json::object const& o, char const* key, int otherwise) {
  auto const* const v = o.if_contains(key);
  return v != nullptr ? static_cast<int>(v->as_int64()) : otherwise;
}

asio::awaitable<void> try_it(world w) {
  auto const& kwargs = record->at("kwargs").as_object();
  std::string const text =
      kwargs.contains("order") ? kwargs.at("order").as_string().c_str() : "tp-cp-ep-dp-pp";
  model_parallel_options more;
  if (kwargs.contains("expert_model_parallel_size"))
    more.ep(int_of(kwargs, "expert_model_parallel_size", 1));
  if (kwargs.contains("expert_tensor_parallel_size"))
    more.etp(int_of(kwargs, "expert_tensor_parallel_size", 1));
  more.virtual_pp(int_of(kwargs, "virtual_pipeline_model_parallel_size", 1));
  auto made = initialize_model_parallel(w, int_of(kwargs, "tensor_model_parallel_size", 1),
                                        int_of(kwargs, "pipeline_model_parallel_size", 1),
                                        int_of(kwargs, "context_parallel_size", 1), std::nullopt,
                                        std::chrono::minutes(1), text, more);
  auto o = co_await test::outcome_of(std::move(made));
  accepted = !o.code;
  if (o.code) CHECK(o.code == errc::invalid_argument);
}

// The families that this library has not, by the option that asks for them.
std::string family_of(json::object const& kwargs) {
  static std::set<std::string> const ours{"tensor_model_parallel_size",
                                          "pipeline_model_parallel_size",
                                          "context_parallel_size",
                                          "expert_model_parallel_size",
                                          "expert_tensor_parallel_size",
                                          "virtual_pipeline_model_parallel_size",
                                          "order"};
  for (auto const& [key, value] : kwargs)
    if (!ours.contains(std::string(key))) return std::string(key);
  return {};
}

}  // namespace

TEST_CASE("what Megatron refuses is refused with a code, but for its refusal without experts") {
  auto const file = test::golden("megatron_init_topology.json");
  int refused = 0;
  std::set<std::string> taken;
  std::multiset<std::string> skipped;
  for (auto const& c : file.at("cases").as_array()) {
    record = &c.as_object();
    int const n = static_cast<int>(record->at("world").as_int64());
    if (!record->contains("error") || n == 0) continue;  // there is no world of no ranks
    auto const& kwargs = record->at("kwargs").as_object();
    if (auto const family = family_of(kwargs); !family.empty()) {
      skipped.insert(family);
      continue;
    }
    test::run_ranks(n, try_it);
    if (accepted) taken.insert(json::serialize(kwargs));
    if (!accepted) ++refused;
  }
  std::string names;
  for (auto const& s : skipped) names += " " + s;
  MESSAGE(refused << " refused; skipped " << skipped.size() << ":" << names);
  CHECK(refused == 11);
  CHECK(taken.size() == 1);
  CHECK(taken.begin()->find("tp-cp-pp-dp") != std::string::npos);
  CHECK(skipped.size() == 6);
}
