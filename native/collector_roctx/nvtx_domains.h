// The domains of NVTX: each nests its ranges by itself. What programs get as handles of NVTX is kept until the process ends.
#ifndef WAVESCOPE_COLLECTOR_ROCTX_NVTX_DOMAINS_H
#define WAVESCOPE_COLLECTOR_ROCTX_NVTX_DOMAINS_H

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>

#include "core/session.h"

namespace wavescope::roctx {

class NvtxDomain {
 public:
  NvtxDomain(std::string name, uint32_t number, NvtxDomain* next) : name_(std::move(name)), number_(number), next_(next) {}
  NvtxDomain(const NvtxDomain&) = delete;
  NvtxDomain& operator=(const NvtxDomain&) = delete;

  const std::string& name() const { return name_; }
  uint32_t number() const { return number_; }  // from 1; 0 is the default domain's
  NvtxDomain* next() const { return next_; }

  // The id of its name in the text stream.
  uint32_t text_in(Session& session) const;
  void forget_text() { text_.store(0, std::memory_order_relaxed); }

 private:
  const std::string name_;
  const uint32_t number_;
  NvtxDomain* const next_;
  mutable std::atomic<uint32_t> text_{0};
};

// The domain of that name, made when it is first asked for. Null, the default domain, when there are too many.
const NvtxDomain* nvtx_domain(const std::string& name);

// The text as a handle, each text once; null when there are too many.
const std::string* nvtx_registered(const std::string& text);
// The text of such a handle; null when it is somebody else's.
const std::string* nvtx_text_of(const void* handle);

}  // namespace wavescope::roctx

#endif
