#include "collector_cupti/kernel_table.h"

#include <algorithm>
#include <cstring>

namespace wavescope::cupti {
namespace {

uint64_t mixed(uint64_t value) {
  value *= 0x9e3779b97f4a7c15u;
  return value ^ value >> 32;
}

uint32_t shared_bytes(const KernelRecord& record) {
  return static_cast<uint32_t>(std::max(record.static_shared_bytes, 0)) +
         static_cast<uint32_t>(std::max(record.dynamic_shared_bytes, 0));
}

}  // namespace

std::size_t KernelTable::KeyHash::operator()(const Key& key) const {
  const uint64_t needs =
      uint64_t{key.needs.registers} << 48 ^ uint64_t { key.needs.shared_bytes } << 24 ^ key.needs.local_bytes;
  return std::hash<std::string_view>()(key.name) ^ mixed(needs);
}

uint64_t KernelTable::object_of(const KernelRecord& record) {
  const char* name = record.name == nullptr ? "" : record.name;
  const Needs needs{record.registers_per_thread, shared_bytes(record), record.local_bytes_per_thread};
  const uint64_t where = reinterpret_cast<uint64_t>(name) ^ uint64_t { needs.shared_bytes } << 40;
  Recent& recent = recent_[mixed(where) % kRecent];
  if (__builtin_expect(!is_same(recent, name, needs), 0)) recent = Recent{name, &find_or_add(name, needs), buffer_};
  recent.compared_in = buffer_;
  return recent.kernel->object;
}

bool KernelTable::is_same(const Recent& recent, const char* name, const Needs& needs) const {
  if (recent.pointer != name || recent.kernel == nullptr || !(recent.kernel->needs == needs)) return false;
  return recent.compared_in == buffer_ || recent.kernel->name == name;
}

const KernelTable::Kernel& KernelTable::find_or_add(const char* name, const Needs& needs) {
  const auto known = by_content_.find(Key{name, needs});
  if (known != by_content_.end()) return *known->second;
  const Kernel& kernel = kernels_.emplace_back(Kernel{name, needs, kernels_.size() + 1});
  by_content_.emplace(Key{kernel.name, needs}, &kernel);
  facts_.append(Fact("kernel")
                    .add("object", kernel.object)
                    .add("name", kernel.name)
                    .add("vgprs", needs.registers)
                    .add("lds_bytes", needs.shared_bytes)
                    .add("scratch_bytes", needs.local_bytes));
  return kernel;
}

}  // namespace wavescope::cupti
