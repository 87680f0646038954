// SPDX-License-Identifier: MIT
#include "io/unpacked_files.h"

#include <algorithm>
#include <utility>

#include "compressed/unpacked.h"

namespace batchfeed {

std::shared_ptr<const compressed::Unpacked> UnpackedFiles::open(const Which& which, const Unpack& unpack) {
  const auto is_it = [&](const Known& known) {
    const Limits& now = which.limits;
    const Limits& then = known.which.limits;
    return known.which.path == which.path && known.which.identity == which.identity &&
           now.unpacked_bytes == then.unpacked_bytes && now.unpack_ratio == then.unpack_ratio &&
           now.unpack_window_bytes == then.unpack_window_bytes;
  };
  std::size_t room = 0;
  {
    const std::lock_guard lock(mutex_);
    const auto found = std::find_if(known_.begin(), known_.end(), is_it);
    if (found != known_.end()) return found->unpacked;
    room = std::exchange(room_, 0);  // all for one file at a time: it gives back what it does not need
  }
  const auto give_back = [&](std::size_t used) {
    const std::lock_guard lock(mutex_);
    room_ += room - used;
  };
  std::shared_ptr<const compressed::Unpacked> fresh;
  try {
    fresh = unpack(room);
  } catch (...) {
    give_back(0);
    throw;
  }
  give_back(fresh->kept());
  const std::lock_guard lock(mutex_);
  if (fresh->point_bytes() > point_room_) return fresh;
  point_room_ -= fresh->point_bytes();
  known_.push_back({which, fresh});
  return fresh;
}

std::shared_ptr<UnpackedFiles> share_unpacked(std::size_t text_bytes) {
  return std::make_shared<UnpackedFiles>(text_bytes);
}

}  // namespace batchfeed
