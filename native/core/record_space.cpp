#include "core/record_space.h"

#include <algorithm>
#include <cstddef>

namespace wavescope {
namespace {

constexpr uint64_t kMostAtATime = uint64_t{1} << 20;

}  // namespace

void RecordSpace::add_filled(SpentStream& stream, FilePart part) {
  if (!drops_oldest()) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  filled_.push_back(Filled{&stream, part});
  filled_bytes_ += part.bytes();
}

bool RecordSpace::make_room(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (budget_.take(bytes)) return true;  // another thread made room meanwhile
  if (control_ != nullptr && !control_->begin_dropping()) {
    budget_.take_anyway(bytes);
    return true;
  }
  // What becomes free another thread may take before this one.
  bool has_room = false;
  while (!has_room && could_fit(bytes) && drop_for(bytes)) has_room = budget_.take(bytes);
  if (control_ != nullptr) control_->end_dropping();
  return has_room;
}

// Nothing is dropped in vain: who asks for too much may ask for less.
bool RecordSpace::could_fit(uint64_t bytes) const {
  const uint64_t staying_bytes = budget_.used() - std::min(budget_.used(), filled_bytes_);
  return staying_bytes + bytes <= budget_.limit();
}

// So much at a time that it is done seldom, and so little that nobody waits long for it. False when there was nothing.
bool RecordSpace::drop_for(uint64_t bytes) {
  const uint64_t missing = budget_.used() + bytes - std::min(budget_.used() + bytes, budget_.limit());
  const uint64_t dropped = choose(std::max(missing, std::min(budget_.limit() / 64, kMostAtATime)));
  drop_chosen();
  filled_bytes_ -= dropped;
  budget_.drop(dropped);
  return dropped != 0;
}

// Of parts that are still written to, the turn comes again.
uint64_t RecordSpace::choose(uint64_t wanted_bytes) {
  chosen_.clear();
  uint64_t found = 0;
  for (std::size_t left = filled_.size(); left > 0 && found < wanted_bytes; --left) {
    const Filled oldest = filled_.front();
    filled_.pop_front();
    if (oldest.stream->is_over(oldest.part)) {
      chosen_.push_back(oldest);
      found += oldest.part.bytes();
    } else {
      filled_.push_back(oldest);
    }
  }
  return found;
}

void RecordSpace::drop_chosen() {
  std::sort(chosen_.begin(), chosen_.end(), [](const Filled& one, const Filled& other) {
    return one.stream != other.stream ? one.stream < other.stream : one.part.begin < other.part.begin;
  });
  std::vector<FilePart> parts;
  for (std::size_t at = 0; at < chosen_.size(); ++at) {
    const Filled& next = chosen_[at];
    if (!parts.empty() && parts.back().end == next.part.begin) parts.back().end = next.part.end;
    else parts.push_back(next.part);
    if (at + 1 < chosen_.size() && chosen_[at + 1].stream == next.stream) continue;
    next.stream->drop(parts);
    parts.clear();
  }
}

}  // namespace wavescope
