// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <hocket/async/op_options.hpp>
#include <hocket/async/stream.hpp>
#include <hocket/async/work.hpp>
#include <hocket/parallel/device_mesh.hpp>
#include <hocket/parallel/dtensor.hpp>
#include <map>
#include <source_location>
#include <string>

namespace hocket {

/// The tensors of a model by name: parameters, and buffers that are not learnt. Copies share them.
class model_states {
 public:
  /// In the order of the names.
  using table = std::map<std::string, state_tensor, std::less<>>;

  /// @{
  /// Adds one; a name that either table has is `errc::invalid_argument`.
  model_states& parameter(std::string name, state_tensor value);
  model_states& buffer(std::string name, state_tensor value);
  /// @}
  /// @{
  /// Those added so far.
  [[nodiscard]] table const& parameters() const noexcept { return parameters_; }
  [[nodiscard]] table const& buffers() const noexcept { return buffers_; }
  /// @}

 private:
  model_states& add(table& to, std::string name, state_tensor value);
  table parameters_;
  table buffers_;
};

/// The most bytes of one broadcast; two are under way at a time.
inline constexpr std::size_t broadcast_bucket_max = std::size_t{64} << 20;

/// Makes every replica of a model equal to the first: the first rank along the mesh's dimension
/// "replicate" gives its tensors (of a sharded one, its shard) to the others along it, in place.
/// Parameters first, then buffers, each in the order of the names, in buckets that overlap; tensors
/// of any dtype, also scalars, empty and not contiguous ones. All ranks of the mesh call.
///
/// Ranks whose states differ in name, dtype or the shape of a shard all get `errc::mismatch` that
/// names the first such state, before anything is sent. Where the dimension has one rank nothing
/// is. Tensors must not be touched until the handle is done. Options count for each step.
[[nodiscard]] work<> broadcast_dtensor_model_states(
    model_states states, device_mesh const& mesh, op_options const& options = {},
    std::source_location site = std::source_location::current());

// Files of the safetensors format. Reading and writing block, so they run on a worker's stream.

/// Reads every state from a file, into its tensor; of a sharded one only the shard is read. The
/// file's tensors are the whole ones. `errc::corrupt` for a file that is not right (see
/// `parse_safetensors_header`), `errc::mismatch` naming the state for one that the file has not, or
/// with another dtype or shape, and for a tensor of the file that is no state: then nothing is
/// read. Reads go through io_uring where the kernel permits it, else one after the other.
[[nodiscard]] work<> load_model_states(model_states states, std::filesystem::path path,
                                       host_stream& reader,
                                       std::source_location site = std::source_location::current());
/// On the first rank along "replicate", reads into the tensors and gives them to the others as
/// `broadcast_dtensor_model_states` does; where reading fails the others get `errc::peer_failed`.
[[nodiscard]] work<> load_model_states(model_states states, std::filesystem::path path,
                                       device_mesh const& mesh, host_stream& reader,
                                       op_options const& options = {},
                                       std::source_location site = std::source_location::current());

/// Writes states to a file, whole or not at all. Sharded ones must be whole on this rank (all
/// replicated; see `full_tensor`), else `errc::invalid_argument`. `metadata` are strings of the
/// program's own. Tensors must not be written until the handle is done.
[[nodiscard]] work<> save_model_states(
    model_states states, std::filesystem::path path, host_stream& writer,
    std::map<std::string, std::string, std::less<>> metadata = {},
    std::source_location site = std::source_location::current());

}  // namespace hocket
