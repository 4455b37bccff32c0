// The collector's hold on CUPTI: its subscription, its buffers' callbacks, and which kinds of records are on.
//
// One thread at a time, which is the caller's care, except for what the callbacks use.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_ATTACHMENT_H
#define WAVESCOPE_COLLECTOR_CUPTI_ATTACHMENT_H

#include <set>
#include <string>
#include <vector>

#include "collector_cupti/cupti_library.h"
#include "collector_cupti/recorded_time.h"

namespace wavescope::cupti {

// What goes on and off together.
enum class Records : uint8_t {
  kKernels,
  kCopies,  // and fills
  kGraphs,  // runs of whole graphs, whose kernels then have no records
};

class Attachment {
 public:
  struct Callbacks {
    CuptiCallback on_callback;
    void* user_data;
    CuptiBufferRequested on_request;
    CuptiBufferCompleted on_completion;
  };

  Attachment(const CuptiLibrary& library, RecordedTime& recorded_time) : library_(library), recorded_time_(recorded_time) {}
  Attachment(const Attachment&) = delete;
  Attachment& operator=(const Attachment&) = delete;

  // Subscribes and registers the callbacks; false, with the reason, when CUPTI does not let it. Nothing is on then.
  bool take(const Callbacks& callbacks, std::string& reason);
  CuptiSubscriber subscriber() const { return subscriber_; }

  // False, with the reason, when kernels cannot be recorded; what else is refused is only a complaint. Once a program has
  // graphs, turning those on or off makes its next launch of one crash inside CUPTI (seen with CUPTI 13.0): they are on from
  // the first time that CUPTI is taken, or never, and only go with CUPTI itself.
  bool turn_on(Records records, std::string& reason);
  // Has no effect on graphs. `is_for_slices`: a slice ends, and not the recording.
  void turn_off(Records records, bool is_for_slices = false);
  // For good. Only of a program that has had no graph so far.
  void turn_off_graphs();
  bool is_on(Records records) const { return on_.count(records) != 0; }

  // What was said of kinds that CUPTI does not have, since the last call.
  std::vector<std::string> take_complaints();

  // Gives CUPTI back; all but graphs is off.
  void let_go();
  // It was finalized: there is nothing to give back.
  void forget();

 private:
  void set_attributes() const;
  uint64_t now_ticks() const;
  void disable(Records records);

  const CuptiLibrary& library_;
  RecordedTime& recorded_time_;
  CuptiSubscriber subscriber_ = nullptr;
  std::set<Records> on_;
  bool is_first_time_ = true;
  std::vector<std::string> complaints_;
};

// Why CUPTI refused, in words for the user.
std::string words_of(const CuptiLibrary& library, CuptiResult result);

}  // namespace wavescope::cupti

#endif
