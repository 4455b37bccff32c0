// The kernels of an executable, written down when it is frozen: name, registers, memory.
#ifndef WAVESCOPE_COLLECTOR_HSA_KERNEL_SYMBOLS_H
#define WAVESCOPE_COLLECTOR_HSA_KERNEL_SYMBOLS_H

#include "collector_hsa/agents.h"
#include "collector_hsa/hsa_api.h"
#include "collector_hsa/hsa_tables.h"
#include "core/facts_log.h"

namespace wavescope {

struct Registers {
  uint32_t vgprs;
  uint32_t agprs;
  uint32_t sgprs;
};

// What a kernel descriptor (64 bytes, code object 3 and later) allocates on a chip, e.g. "gfx90a".
Registers registers_of(const unsigned char* descriptor, const std::string& chip);

class KernelSymbols {
 public:
  KernelSymbols(const HsaApi& api, Agents& agents, FactsLog& facts);

  void executable_frozen(hsa_executable_t executable);

 private:
  struct Visit {
    KernelSymbols* self;
    const std::string* chip;
    const std::string* code_object;
  };
  static hsa_status_t visit_symbol(hsa_executable_t, hsa_agent_t, hsa_executable_symbol_t symbol, void* visit);
  static hsa_status_t visit_code_object(hsa_executable_t, hsa_loaded_code_object_t code_object, void* visit);
  void add(hsa_executable_symbol_t symbol, const std::string& chip, const std::string& code_object);

  const HsaApi& api_;
  Agents& agents_;
  FactsLog& facts_;
  hsa_ven_amd_loader_1_01_pfn_t loader_{};
};

}  // namespace wavescope

#endif
