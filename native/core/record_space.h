// Room for the records of a process, within its limit. Where the newest are to be kept, the oldest make room for them, of
// whichever stream they are: parts of files are given back in the order in which they were filled.
//
// What is dropped leaves a hole, so that no other record moves. Its stream counts it before that, in the page of its header.
#ifndef WAVESCOPE_CORE_RECORD_SPACE_H
#define WAVESCOPE_CORE_RECORD_SPACE_H

#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

#include "core/byte_budget.h"
#include "core/control.h"
#include "core/own_file.h"

namespace wavescope {

// A stream whose oldest records can make room.
class SpentStream {
 public:
  // Whether nobody will write to a part that was filled any more.
  virtual bool is_over(const FilePart& part) = 0;
  // Counts the records in them and gives their space back. Parts are in order and apart.
  virtual void drop(const std::vector<FilePart>& parts) = 0;

 protected:
  ~SpentStream() = default;
};

class RecordSpace {
 public:
  // Without a control page nobody asks to leave the files as they are.
  explicit RecordSpace(ByteBudget& budget, Control* control = nullptr) : budget_(budget), control_(control) {}
  RecordSpace(const RecordSpace&) = delete;
  RecordSpace& operator=(const RecordSpace&) = delete;

  bool drops_oldest() const { return budget_.keep() == Keep::kNewest; }
  const ByteBudget& budget() const { return budget_; }

  // Whether `bytes` more may be written, for which older records may be dropped: no lock of a stream may be held.
  bool take(uint64_t bytes) { return budget_.take(bytes) || (drops_oldest() && make_room(bytes)); }
  void give_back(uint64_t bytes) { budget_.give_back(bytes); }

  // The part is full: it may be dropped when its turn comes.
  void add_filled(SpentStream& stream, FilePart part);

 private:
  struct Filled {
    SpentStream* stream;
    FilePart part;
  };

  bool make_room(uint64_t bytes);
  bool could_fit(uint64_t bytes) const;
  bool drop_for(uint64_t bytes);
  uint64_t choose(uint64_t wanted_bytes);
  void drop_chosen();

  ByteBudget& budget_;
  Control* const control_;
  std::mutex mutex_;  // of all below
  std::deque<Filled> filled_;
  uint64_t filled_bytes_ = 0;
  std::vector<Filled> chosen_;
};

}  // namespace wavescope

#endif
