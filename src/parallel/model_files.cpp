// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <hocket/error.hpp>
#include <hocket/parallel/model_states.hpp>
#include <hocket/tensor/copy.hpp>
#include <hocket/tensor/safetensors.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "file_reader.hpp"
#include "identity.hpp"
#include "parallel_core.hpp"

namespace hocket {
namespace {

using detail::file_piece;
using detail::file_reader;

constexpr std::size_t length_bytes = sizeof(std::uint64_t);
// Shorter runs of a shard are read with what lies between them.
constexpr std::size_t run_bytes_min = std::size_t{4} << 10;

class stored_model {
 public:
  safetensors_header header;
  std::uint64_t data_at = 0;  ///< where the tensors' bytes begin in the file
};

stored_model read_header(file_reader const& file) {
  auto const refuse = [&](errc code, std::string const& what) {
    throw error(code, fmt::format("{}: {}", file.path().string(), what));
  };
  std::uint64_t length = 0;
  if (file.size() < length_bytes)
    refuse(errc::corrupt,
           fmt::format("{} bytes; the header's length alone takes {}", file.size(), length_bytes));
  file_piece piece;
  piece.to = reinterpret_cast<std::byte*>(&length);
  piece.bytes = length_bytes;
  file.read(std::span(&piece, 1), detail::read_way::pread);
  if (length > safetensors_header_max)
    refuse(errc::too_large,
           fmt::format("a header of {} bytes, at most {}", length, safetensors_header_max));
  if (length > file.size() - length_bytes)
    refuse(errc::corrupt, fmt::format("a header of {} bytes in a file of {}", length, file.size()));
  std::string text(length, '\0');
  piece.offset = length_bytes;
  piece.to = reinterpret_cast<std::byte*>(text.data());
  piece.bytes = text.size();
  file.read(std::span(&piece, 1), detail::read_way::pread);
  stored_model model;
  model.data_at = length_bytes + length;
  try {
    model.header = parse_safetensors_header(text, file.size() - model.data_at);
  } catch (error const& e) {
    refuse(static_cast<errc>(e.code().value()), e.what());
  }
  return model;
}

// What to read, and what to copy once it is there.
class reading {
 public:
  void add(tensor const& t, tensor_box const& box, shape const& full, std::uint64_t at);
  std::vector<file_piece> pieces;
  std::vector<std::pair<tensor, tensor>> copies;  // to, from

 private:
  void add_bytes(tensor const& to, std::uint64_t at);
  void add_runs(tensor const& to, tensor_box const& box, shape const& full, std::uint64_t at);
};

void reading::add_bytes(tensor const& to, std::uint64_t at) {
  pieces.push_back({at, to.bytes(), to.nbytes()});
}

// Row-major strides of the whole, in elements.
std::vector<std::int64_t> strides_of(shape const& full) {
  std::vector<std::int64_t> strides(full.size(), 1);
  for (std::size_t i = full.size(); i-- > 1;) strides[i - 1] = strides[i] * full[i];
  return strides;
}

// A shard as the runs of the file that it is made of, in its own order.
void reading::add_runs(tensor const& to, tensor_box const& box, shape const& full,
                       std::uint64_t at) {
  auto const item = static_cast<std::int64_t>(size_of(to.dtype()));
  auto const strides = strides_of(full);
  std::size_t tail = box.ndim;  // from this dimension on the whole extent is taken
  while (tail > 0 && box.extent[tail - 1] == full[tail - 1]) --tail;
  std::size_t const cut = tail == 0 ? 0 : tail - 1;  // one run covers dimensions cut and on
  auto const run = (box.ndim == 0 ? 1 : box.extent[cut] * strides[cut]) * item;
  auto const runs = static_cast<std::int64_t>(to.nbytes()) / run;
  if (runs > 1 && run < static_cast<std::int64_t>(run_bytes_min)) {
    // The rows that hold it, whole.
    auto rows = full;
    rows.set(0, box.extent[0]);
    auto const around = tensor::empty(to.dtype(), rows);
    add_bytes(around, at + static_cast<std::uint64_t>(box.start[0] * strides[0] * item));
    auto inner = box;
    inner.start[0] = 0;
    copies.emplace_back(to, detail::block_of(around, inner));
    return;
  }
  auto* memory = to.bytes();
  for (std::int64_t i = 0; i < runs; ++i) {
    std::int64_t offset = 0;  // of the run's first element
    auto rest = i;
    for (std::size_t d = cut; d-- > 0;) {
      offset += (box.start[d] + rest % box.extent[d]) * strides[d];
      rest /= box.extent[d];
    }
    if (box.ndim > 0) offset += box.start[cut] * strides[cut];
    pieces.push_back(
        {at + static_cast<std::uint64_t>(offset * item), memory, static_cast<std::size_t>(run)});
    memory += run;
  }
}

void reading::add(tensor const& t, tensor_box const& box, shape const& full, std::uint64_t at) {
  if (t.numel() == 0) return;
  auto to = t;
  if (!t.is_contiguous()) {
    to = tensor::empty(t.dtype(), t.shape());
    add_runs(to, box, full, at);
    copies.emplace_back(t, to);
    return;
  }
  add_runs(to, box, full, at);
}

tensor_box whole_box(shape const& full) {
  tensor_box box;
  box.ndim = full.size();
  std::ranges::copy(full, box.extent.begin());
  return box;
}

tensor_box box_of(std::string const& name, state_tensor const& s) {
  if (!s.sharded()) return whole_box(s.shape());
  for (auto const& p : s.sharded()->where())
    if (p.is_partial())
      throw error(errc::invalid_argument,
                  fmt::format("state \"{}\" is partial: {}", name, brief(s)));
  auto const& mesh = s.sharded()->mesh();
  return local_box(s.shape(), mesh.layout(), s.sharded()->where(), mesh.coordinate());
}

void plan(reading& r, stored_model const& model, model_states::table const& table) {
  for (auto const& [name, s] : table) {
    auto const found = model.header.tensors.find(name);
    if (found == model.header.tensors.end())
      throw error(errc::mismatch, fmt::format("the file has no tensor \"{}\"", name));
    auto const& stored = found->second;
    if (stored.dtype != s.local().dtype() || stored.shape != s.shape())
      throw error(errc::mismatch,
                  fmt::format("state \"{}\" is {}, in the file {}{}", name, brief(s),
                              name_of(stored.dtype), to_string(stored.shape)));
    r.add(s.local(), box_of(name, s), s.shape(), model.data_at + stored.begin);
  }
}

void load(model_states const& states, std::filesystem::path const& path) {
  file_reader const file(path);
  auto const model = read_header(file);
  for (auto const& [name, t] : model.header.tensors)
    if (!states.parameters().contains(name) && !states.buffers().contains(name))
      throw error(errc::mismatch, fmt::format("{}: the tensor \"{}\" is no state of the model",
                                              path.string(), name));
  reading r;
  plan(r, model, states.parameters());
  plan(r, model, states.buffers());
  file.read(r.pieces);
  // What was read first into rows, then to a place with gaps: in this order.
  for (auto const& [to, from] : r.copies) copy(to, from);
}

// The states in the order of the file: alignment by falling size of their elements.
void save(model_states const& states, std::filesystem::path const& path,
          std::map<std::string, std::string, std::less<>> metadata) {
  std::vector<std::pair<std::string, tensor>> all;
  for (auto const* const table : {&states.parameters(), &states.buffers()})
    for (auto const& [name, s] : *table) {
      static_cast<void>(box_of(name, s));  // throws for a partial one
      if (s.local().shape() != s.shape())
        throw error(errc::invalid_argument,
                    fmt::format("state \"{}\" is not whole on this rank: {}", name, brief(s)));
      all.emplace_back(name, s.local().contiguous());
    }
  std::ranges::sort(all, {}, [](auto const& entry) {
    return std::pair(-static_cast<int>(size_of(entry.second.dtype())), entry.first);
  });
  safetensors_header header;
  header.metadata = std::move(metadata);
  std::uint64_t at = 0;
  for (auto const& [name, t] : all) {
    auto const end = at + t.nbytes();
    header.tensors.emplace(name, stored_tensor{t.dtype(), t.shape(), std::exchange(at, end), end});
  }
  auto const text = write_safetensors_header(header);
  std::vector<std::span<std::byte const>> parts{std::as_bytes(std::span(text))};
  for (auto const& [name, t] : all)
    if (t.nbytes() > 0) parts.emplace_back(t.const_bytes(), t.nbytes());
  detail::write_file(path, parts);
}

}  // namespace

work<> load_model_states(model_states states, std::filesystem::path path, host_stream& reader,
                         std::source_location site) {
  return reader.run([states = std::move(states), path = std::move(path)] { load(states, path); },
                    site);
}

work<> save_model_states(model_states states, std::filesystem::path path, host_stream& writer,
                         std::map<std::string, std::string, std::less<>> metadata,
                         std::source_location site) {
  return writer.run([states = std::move(states), path = std::move(path),
                     metadata = std::move(metadata)] { save(states, path, metadata); },
                    site);
}

}  // namespace hocket
