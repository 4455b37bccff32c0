#include "collector_roctx/nvtx_domains.h"

#include <cstddef>
#include <mutex>
#include <new>
#include <set>
#include <unordered_set>

namespace wavescope::roctx {
namespace {

constexpr uint32_t kMostDomains = 4096;
constexpr std::size_t kMostTexts = std::size_t{1} << 20;

std::mutex& mutex() {
  static std::mutex& held = *new std::mutex;
  return held;
}

struct Registered {
  std::set<std::string> texts;
  std::unordered_set<const void*> handles;
};
Registered& registered_texts() {
  static Registered& registered = *new Registered;
  return registered;
}

std::atomic<NvtxDomain*> newest{nullptr};  // none is ever taken off

NvtxDomain* find(const std::string& name) {
  NvtxDomain* domain = newest.load(std::memory_order_acquire);
  while (domain != nullptr && domain->name() != name) domain = domain->next();
  return domain;
}

// A child's texts have other ids; its parent may have been inside of the lock.
void forget_parent() {
  new (&mutex()) std::mutex;
  for (NvtxDomain* domain = newest.load(); domain != nullptr; domain = domain->next()) domain->forget_text();
}

__attribute__((constructor)) void watch_forks() { Session::at_fork_child(forget_parent); }

}  // namespace

uint32_t NvtxDomain::text_in(Session& session) const {
  uint32_t text = text_.load(std::memory_order_relaxed);
  if (__builtin_expect(text != 0, 1)) return text;
  const uint64_t id = session.texts().intern(name_);
  if (id > UINT32_MAX) return 0;
  text = static_cast<uint32_t>(id);
  text_.store(text, std::memory_order_relaxed);
  return text;
}

const NvtxDomain* nvtx_domain(const std::string& name) {
  if (const NvtxDomain* known = find(name)) return known;
  const std::lock_guard<std::mutex> lock(mutex());
  if (const NvtxDomain* known = find(name)) return known;
  NvtxDomain* before = newest.load(std::memory_order_acquire);
  const uint32_t number = before == nullptr ? 1 : before->number() + 1;
  if (number > kMostDomains) return nullptr;
  auto* made = new NvtxDomain(name, number, before);
  newest.store(made, std::memory_order_release);
  return made;
}

const std::string* nvtx_registered(const std::string& text) {
  const std::lock_guard<std::mutex> lock(mutex());
  Registered& registered = registered_texts();
  if (registered.texts.size() >= kMostTexts && registered.texts.count(text) == 0) return nullptr;
  const std::string* handle = &*registered.texts.insert(text).first;
  registered.handles.insert(handle);
  return handle;
}

const std::string* nvtx_text_of(const void* handle) {
  const std::lock_guard<std::mutex> lock(mutex());
  return registered_texts().handles.count(handle) == 0 ? nullptr : static_cast<const std::string*>(handle);
}

}  // namespace wavescope::roctx
