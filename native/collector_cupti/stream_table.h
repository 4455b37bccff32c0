// The streams of a process as queues of its session, each told to it once.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_STREAM_TABLE_H
#define WAVESCOPE_COLLECTOR_CUPTI_STREAM_TABLE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>

#include "core/facts_log.h"
#include "format/chunk_format.h"

namespace wavescope::cupti {

class StreamTable {
 public:
  // Streams beyond these share one more queue, and a note says so.
  static constexpr uint16_t kMostQueues = WAVESCOPE_ALL_QUEUES - 1;

  explicit StreamTable(FactsLog& facts) : facts_(facts) {}
  StreamTable(const StreamTable&) = delete;
  StreamTable& operator=(const StreamTable&) = delete;

  // The queue of a stream, by the numbers that CUPTI has for its GPU, context and stream.
  uint16_t queue_of(uint32_t gpu, uint32_t context, uint32_t stream) {
    const Key key{gpu, context, stream};
    Recent& recent = recent_[(stream + context * 31 + gpu * 7) % recent_.size()];
    if (__builtin_expect(!recent.is_used || !(recent.key == key), 0)) recent = Recent{key, find_or_add(key), true};
    return recent.queue;
  }

 private:
  struct Key {
    uint32_t gpu;
    uint32_t context;
    uint32_t stream;

    bool operator==(const Key& other) const {
      return gpu == other.gpu && context == other.context && stream == other.stream;
    }
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const {
      return ((uint64_t{key.gpu} << 32 | key.context) * 0x9e3779b97f4a7c15u + key.stream) * 0x9e3779b97f4a7c15u >> 16;
    }
  };
  struct Recent {
    Key key{};
    uint16_t queue = 0;
    bool is_used = false;
  };

  uint16_t find_or_add(const Key& key);

  FactsLog& facts_;
  std::array<Recent, 256> recent_{};
  std::unordered_map<Key, uint16_t, KeyHash> queues_;
  bool is_shared_used_ = false;
};

}  // namespace wavescope::cupti

#endif
