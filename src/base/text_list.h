// SPDX-License-Identifier: MIT
//
// Texts one behind the other: 4 bytes beside those of each, as in an index cache.
#pragma once

#include <batchfeed/buffer.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <new>
#include <string_view>

namespace batchfeed {

// A text is shorter than 4 GiB.
class TextList {
 public:
  TextList() = default;
  TextList(std::initializer_list<std::string_view> texts) {
    for (const std::string_view text : texts) add(text);
  }

  // Throws std::bad_alloc for a text of 4 GiB or more.
  void add(std::string_view text) {
    if (text.size() > 0xFFFFFFFFu) throw std::bad_alloc();
    lengths_.push_back(static_cast<std::uint32_t>(text.size()));
    bytes_.append(text.data(), text.size());
  }
  // To be filled directly, by code that reads all texts at once: the sum of the lengths must not exceed the bytes.
  Buffer<char>& bytes() noexcept { return bytes_; }
  Buffer<std::uint32_t>& lengths() noexcept { return lengths_; }
  const Buffer<char>& bytes() const noexcept { return bytes_; }
  const Buffer<std::uint32_t>& lengths() const noexcept { return lengths_; }

  std::size_t size() const noexcept { return lengths_.size(); }
  bool empty() const noexcept { return size() == 0; }
  void clear() noexcept {
    bytes_.clear();
    lengths_.clear();
  }

  bool operator==(const TextList& other) const noexcept {
    return std::ranges::equal(lengths_.span(), other.lengths_.span()) &&
           std::ranges::equal(bytes_.span(), other.bytes_.span());
  }

  // Front to back.
  class Iterator {
   public:
    Iterator(const TextList& list, std::size_t at) : list_(&list), at_(at) {}
    std::string_view operator*() const noexcept { return {list_->bytes_.data() + from_, list_->lengths_[at_]}; }
    Iterator& operator++() noexcept {
      from_ += list_->lengths_[at_++];
      return *this;
    }
    bool operator==(const Iterator& other) const noexcept { return at_ == other.at_; }

   private:
    const TextList* list_;
    std::size_t at_, from_ = 0;
  };
  Iterator begin() const noexcept { return {*this, 0}; }
  Iterator end() const noexcept { return {*this, size()}; }

 private:
  Buffer<char> bytes_;
  Buffer<std::uint32_t> lengths_;
};

}  // namespace batchfeed
