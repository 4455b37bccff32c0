#include "collector_hsa/kernel_symbols.h"

#include <cstring>
#include <string>
#include <utility>

#include "core/clock.h"

namespace wavescope {
namespace {

constexpr std::size_t kResource3 = 44;  // offsets in a kernel descriptor
constexpr std::size_t kResource1 = 48;
constexpr std::size_t kProperties = 56;
constexpr uint32_t kWave32 = 1u << 10;
constexpr std::size_t kLongestName = 1u << 20;

uint32_t word_at(const unsigned char* bytes, std::size_t offset) {
  uint32_t word = 0;
  std::memcpy(&word, bytes + offset, sizeof word);
  return word;
}

bool starts_with(const std::string& text, const char* start) { return text.compare(0, std::strlen(start), start) == 0; }

// The 9 series with one register file for vector and accumulation registers.
bool has_unified_registers(const std::string& chip) {
  return starts_with(chip, "gfx90a") || starts_with(chip, "gfx94") || starts_with(chip, "gfx95");
}

std::string without_suffix(std::string name) {
  if (name.size() > 3 && name.compare(name.size() - 3, 3, ".kd") == 0) name.resize(name.size() - 3);
  return name;
}

}  // namespace

Registers registers_of(const unsigned char* descriptor, const std::string& chip) {
  const uint32_t resource1 = word_at(descriptor, kResource1);
  const uint32_t vector_units = (resource1 & 0x3f) + 1;
  const uint32_t scalar_units = (resource1 >> 6 & 0xf) / 2 + 1;
  if (!starts_with(chip, "gfx9")) {
    const bool wave32 = (word_at(descriptor, kProperties) & kWave32) != 0;
    return Registers{vector_units * (wave32 ? 8 : 4), 0, 128};
  }
  if (!has_unified_registers(chip)) {
    return Registers{vector_units * 4, starts_with(chip, "gfx908") ? vector_units * 4 : 0, scalar_units * 16};
  }
  const uint32_t all = vector_units * 8;
  const uint32_t vector = ((word_at(descriptor, kResource3) & 0x3f) + 1) * 4;
  return Registers{vector < all ? vector : all, vector < all ? all - vector : 0, scalar_units * 16};
}

KernelSymbols::KernelSymbols(const HsaApi& api, Agents& agents, FactsLog& facts)
    : api_(api), agents_(agents), facts_(facts) {
  if (api_.system_get_major_extension_table == nullptr) return;
  if (api_.system_get_major_extension_table(HSA_EXTENSION_AMD_LOADER, 1, sizeof loader_, &loader_) != HSA_STATUS_SUCCESS) {
    loader_ = hsa_ven_amd_loader_1_01_pfn_t{};
  }
}

void KernelSymbols::executable_frozen(hsa_executable_t executable) {
  std::string code_object;
  if (loader_.hsa_ven_amd_loader_executable_iterate_loaded_code_objects != nullptr) {
    std::pair<KernelSymbols*, std::string*> visit(this, &code_object);
    loader_.hsa_ven_amd_loader_executable_iterate_loaded_code_objects(executable, visit_code_object, &visit);
  }
  for (Gpu& gpu : agents_.gpus()) {
    char chip[64] = {};
    api_.agent_get_info(gpu.agent, HSA_AGENT_INFO_NAME, chip);
    const std::string chip_name(chip, strnlen(chip, sizeof chip));
    Visit visit{this, &chip_name, &code_object};
    api_.executable_iterate_agent_symbols(executable, gpu.agent, visit_symbol, &visit);
  }
}

hsa_status_t KernelSymbols::visit_code_object(hsa_executable_t, hsa_loaded_code_object_t code_object, void* opaque) {
  auto& [self, uri] = *static_cast<std::pair<KernelSymbols*, std::string*>*>(opaque);
  const auto get_info = self->loader_.hsa_ven_amd_loader_loaded_code_object_get_info;
  uint32_t length = 0;
  if (get_info(code_object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI_LENGTH, &length) != HSA_STATUS_SUCCESS ||
      length > kLongestName) {
    return HSA_STATUS_SUCCESS;
  }
  uri->assign(length + 1, '\0');
  get_info(code_object, HSA_VEN_AMD_LOADER_LOADED_CODE_OBJECT_INFO_URI, &(*uri)[0]);
  uri->resize(strnlen(uri->c_str(), length));
  return HSA_STATUS_SUCCESS;
}

hsa_status_t KernelSymbols::visit_symbol(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* opaque) {
  const Visit& visit = *static_cast<Visit*>(opaque);
  hsa_symbol_kind_t kind{};
  visit.self->api_.executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind);
  if (kind == HSA_SYMBOL_KIND_KERNEL) visit.self->add(symbol, *visit.chip, *visit.code_object);
  return HSA_STATUS_SUCCESS;
}

void KernelSymbols::add(hsa_executable_symbol_t symbol, const std::string& chip, const std::string& code_object) {
  const auto number = [&](hsa_executable_symbol_info_t attribute) {
    uint32_t value = 0;
    api_.executable_symbol_get_info(symbol, attribute, &value);
    return value;
  };
  uint64_t object = 0;
  api_.executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT, &object);
  const uint32_t length = number(HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH);
  if (length > kLongestName) return;
  std::string name(length + 1, '\0');
  api_.executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_NAME, &name[0]);
  name.resize(strnlen(name.c_str(), length));
  name = without_suffix(name);

  Fact fact("kernel");
  fact.add("object", object)
      .add("name", name)
      .add("ns", boottime_ns())
      .add("lds_bytes", number(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE))
      .add("scratch_bytes", number(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_PRIVATE_SEGMENT_SIZE))
      .add("kernarg_bytes", number(HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE));
  const void* host = nullptr;
  if (loader_.hsa_ven_amd_loader_query_host_address != nullptr &&
      loader_.hsa_ven_amd_loader_query_host_address(reinterpret_cast<const void*>(object), &host) == HSA_STATUS_SUCCESS &&
      host != nullptr) {
    const Registers registers = registers_of(static_cast<const unsigned char*>(host), chip);
    fact.add("vgprs", registers.vgprs).add("agprs", registers.agprs).add("sgprs", registers.sgprs);
  }
  if (!code_object.empty()) fact.add("code_object", code_object);
  facts_.append(fact);
}

}  // namespace wavescope
