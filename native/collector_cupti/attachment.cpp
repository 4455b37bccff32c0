#include "collector_cupti/attachment.h"

namespace wavescope::cupti {
namespace {

struct KindRow {
  Records records;
  CuptiActivityKind kind;
  const char* what;
};

constexpr KindRow kKinds[] = {
    {Records::kKernels, CuptiActivityKind::kConcurrentKernel, "kernels"},
    {Records::kCopies, CuptiActivityKind::kMemcpy, "copies"},
    {Records::kCopies, CuptiActivityKind::kMemset, "fills"},
    {Records::kCopies, CuptiActivityKind::kMemcpyPeer, "copies between GPUs"},
    {Records::kGraphs, CuptiActivityKind::kGraphTrace, "runs of graphs"},
};

}  // namespace

std::string words_of(const CuptiLibrary& library, CuptiResult result) {
  switch (result) {
    case CuptiResult::kMultipleSubscribers: return "another tool uses CUPTI in this process";
    case CuptiResult::kInsufficientPrivileges:
    case CuptiResult::kVirtualizedDevicePrivileges:
      return "the driver lets only administrators profile (NVreg_RestrictProfilingToAdminUsers)";
    case CuptiResult::kVirtualizedDevice: return "CUPTI does not work on this virtual GPU";
    case CuptiResult::kConfidentialComputing: return "CUPTI does not work with confidential computing";
    case CuptiResult::kNotCompatible: return "this libcupti does not fit the driver (" + library.name_of(result) + ")";
    default: return "CUPTI refused (" + library.name_of(result) + ")";
  }
}

void Attachment::set_attributes() const {
  if (library_.activity_set_attribute == nullptr) return;
  // Else it clears each buffer on the thread that launches. Where this is refused it clears what is clear already.
  uint8_t zeroed = 1;
  std::size_t bytes = sizeof zeroed;
  library_.activity_set_attribute(static_cast<uint32_t>(ActivityAttribute::kZeroedOutBuffers), &bytes, &zeroed);
}

bool Attachment::take(const Callbacks& callbacks, std::string& reason) {
  CuptiSubscriber made = nullptr;
  CuptiResult result = library_.subscribe(&made, callbacks.on_callback, callbacks.user_data);
  if (result != CuptiResult::kSuccess) {
    reason = words_of(library_, result);
    return false;
  }
  set_attributes();
  result = library_.activity_register_callbacks(callbacks.on_request, callbacks.on_completion);
  if (result != CuptiResult::kSuccess) {
    library_.unsubscribe(made);
    reason = words_of(library_, result);
    return false;
  }
  subscriber_ = made;
  return true;
}

bool Attachment::turn_on(Records records, std::string& reason) {
  if (is_on(records)) return true;
  if (records == Records::kGraphs && !is_first_time_) {
    complaints_.emplace_back("runs of whole graphs not recorded after a pause: CUPTI cannot begin with them again");
    return true;
  }
  for (const KindRow& row : kKinds) {
    if (row.records != records) continue;
    const CuptiResult result = library_.activity_enable(row.kind);
    if (result == CuptiResult::kSuccess) continue;
    reason = words_of(library_, result);
    if (records == Records::kKernels) return false;
    complaints_.push_back(std::string(row.what) + " not recorded, because " + reason);
  }
  on_.insert(records);
  if (records == Records::kKernels) recorded_time_.is_on(now_ticks());
  return true;
}

uint64_t Attachment::now_ticks() const {
  uint64_t ticks = 0;
  library_.get_timestamp(&ticks);
  return ticks;
}

void Attachment::turn_off(Records records, bool is_for_slices) {
  if (records == Records::kKernels && is_on(records)) recorded_time_.goes_off(now_ticks(), is_for_slices);
  if (records != Records::kGraphs) disable(records);
}

void Attachment::turn_off_graphs() {
  disable(Records::kGraphs);
  is_first_time_ = false;
}

void Attachment::disable(Records records) {
  if (on_.erase(records) == 0) return;
  for (const KindRow& row : kKinds) {
    if (row.records == records) library_.activity_disable(row.kind);
  }
}

std::vector<std::string> Attachment::take_complaints() {
  std::vector<std::string> taken;
  taken.swap(complaints_);
  return taken;
}

void Attachment::let_go() {
  if (subscriber_ == nullptr) return;
  turn_off(Records::kKernels);
  turn_off(Records::kCopies);
  library_.unsubscribe(subscriber_);
  subscriber_ = nullptr;
}

void Attachment::forget() {
  subscriber_ = nullptr;
  on_.clear();
  is_first_time_ = false;
}

}  // namespace wavescope::cupti
