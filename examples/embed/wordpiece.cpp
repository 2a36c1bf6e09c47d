// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Hocket authors
#include "wordpiece.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <fstream>
#include <hocket/error.hpp>
#include <utility>

#include "bert_words.hpp"

namespace embed {
namespace {

constexpr std::array<std::string_view, 5> special_names = {"[PAD]", "[UNK]", "[CLS]", "[SEP]",
                                                           "[MASK]"};

// The vocabulary marks a piece that goes on inside a word.
constexpr std::string_view continuation_mark = "##";

struct special_match {
  std::size_t at = std::string_view::npos;
  std::size_t which = 0;
};

// No name is a prefix of another, so the first match is the only one at its place.
special_match find_special(std::string_view text) {
  for (std::size_t at = text.find('['); at != std::string_view::npos; at = text.find('[', at + 1)) {
    for (std::size_t which = 0; which < special_names.size(); ++which) {
      if (text.substr(at).starts_with(special_names[which])) return {at, which};
    }
  }
  return {};
}

// One code point shorter; words come well-formed out of bert_words.
std::size_t previous_boundary(std::string_view text, std::size_t end) noexcept {
  do --end;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U);
  return end;
}

}  // namespace

wordpiece::wordpiece(std::filesystem::path const& vocab_file) {
  std::ifstream in(vocab_file, std::ios::binary);
  if (!in)
    throw hocket::error(boost::system::error_code(errno, boost::system::system_category()),
                        fmt::format("cannot read the vocabulary {}", vocab_file.string()));
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    auto const id = static_cast<token_id>(pieces_.size());
    auto const [place, is_new] = ids_.try_emplace(line, id);
    if (!is_new)
      throw hocket::error(hocket::errc::corrupt,
                          fmt::format("{}:{}: piece \"{}\" is already on line {}",
                                      vocab_file.string(), id + 1, line, place->second + 1));
    pieces_.push_back(std::move(line));
  }
  for (std::size_t i = 0; i < special_names.size(); ++i) {
    auto const found = ids_.find(special_names[i]);
    if (found == ids_.end())
      throw hocket::error(hocket::errc::corrupt,
                          fmt::format("{}: none of its {} pieces is {}", vocab_file.string(),
                                      pieces_.size(), special_names[i]));
    special_ids_[i] = found->second;
  }
}

std::string_view wordpiece::piece(token_id id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= pieces_.size())
    throw hocket::error(
        hocket::errc::invalid_argument,
        fmt::format("token {} is outside the vocabulary of {} pieces", id, pieces_.size()));
  return pieces_[static_cast<std::size_t>(id)];
}

// Greedy: at each place the longest piece of the vocabulary; one place without any makes the
// whole word unknown.
void wordpiece::append_word(std::string_view word, std::vector<token_id>& ids) const {
  if (count_code_points(word) > word_code_points_max) {
    ids.push_back(unknown_id());
    return;
  }
  std::size_t const before = ids.size();
  std::string candidate;
  for (std::size_t begin = 0; begin < word.size();) {
    std::size_t end = word.size();
    for (; end > begin; end = previous_boundary(word, end)) {
      candidate = begin > 0 ? continuation_mark : std::string_view();
      candidate += word.substr(begin, end - begin);
      auto const found = ids_.find(candidate);
      if (found == ids_.end()) continue;
      ids.push_back(found->second);
      break;
    }
    if (end <= begin) {
      ids.resize(before);
      ids.push_back(unknown_id());
      return;
    }
    begin = end;
  }
}

void wordpiece::append_text(std::string_view text, std::size_t ids_max,
                            std::vector<token_id>& ids) const {
  for (std::string const& word : bert_words(text)) {
    if (ids.size() >= ids_max) return;
    append_word(word, ids);
  }
}

std::vector<token_id> wordpiece::encode(std::string_view text, std::size_t tokens_max) const {
  if (tokens_max < 2)
    throw hocket::error(
        hocket::errc::invalid_argument,
        fmt::format("at most {} tokens asked for; [CLS] and [SEP] alone are 2", tokens_max));
  std::vector<token_id> ids = {first_id()};
  for (std::string_view rest = text; !rest.empty() && ids.size() < tokens_max;) {
    auto const [at, which] = find_special(rest);
    append_text(rest.substr(0, at), tokens_max, ids);
    if (at == std::string_view::npos) break;
    ids.push_back(special_ids_[which]);
    rest.remove_prefix(at + special_names[which].size());
  }
  if (ids.size() >= tokens_max) ids.resize(tokens_max - 1);
  ids.push_back(last_id());
  return ids;
}

}  // namespace embed
