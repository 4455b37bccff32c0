#include "softgpu/code_objects.h"

#include <elf.h>

#include <cstring>
#include <optional>
#include <string_view>

namespace softgpu {

namespace {

constexpr uintptr_t page_bytes = 4096;
constexpr std::string_view descriptor_suffix = ".kd";

// A loaded ELF image: everything is read by its virtual address and checked against the block's end.
class LoadedImage {
 public:
  LoadedImage(uintptr_t base, uintptr_t end) : base_(base), end_(end) {}

  bool is_code_object() const {
    const auto header = at<Elf64_Ehdr>(0);
    return header && std::memcmp(header->e_ident, ELFMAG, SELFMAG) == 0 && header->e_ident[EI_CLASS] == ELFCLASS64 &&
           header->e_phentsize == sizeof(Elf64_Phdr);
  }

  std::string descriptor_name(uint64_t address) const {
    const Tables tables = dynamic_tables();
    if (!tables.symbols || !tables.strings) return {};
    for (uint64_t index = 0; index < tables.symbol_count; ++index) {
      const auto symbol = at<Elf64_Sym>(tables.symbols + index * sizeof(Elf64_Sym));
      if (!symbol) return {};
      if (symbol->st_value == 0 || base_ + symbol->st_value != address) continue;
      const std::string_view name = text(tables.strings + symbol->st_name);
      if (name.size() > descriptor_suffix.size() &&
          name.substr(name.size() - descriptor_suffix.size()) == descriptor_suffix) {
        return std::string(name.substr(0, name.size() - descriptor_suffix.size()));
      }
    }
    return {};
  }

 private:
  struct Tables {
    uint64_t symbols = 0;
    uint64_t strings = 0;
    uint64_t symbol_count = 0;
  };

  // A copy, as offsets need not be aligned.
  template <class Part>
  std::optional<Part> at(uint64_t offset) const {
    const uint64_t size = end_ - base_;
    if (offset > size || size - offset < sizeof(Part)) return std::nullopt;
    Part part;
    std::memcpy(&part, reinterpret_cast<const char*>(base_ + offset), sizeof part);
    return part;
  }

  std::string_view text(uint64_t offset) const {
    if (offset >= end_ - base_) return {};
    const auto* first = reinterpret_cast<const char*>(base_ + offset);
    return {first, strnlen(first, end_ - base_ - offset)};
  }

  Tables dynamic_tables() const {
    Tables tables;
    const auto header = at<Elf64_Ehdr>(0);
    for (unsigned index = 0; index < header->e_phnum; ++index) {
      const auto segment = at<Elf64_Phdr>(header->e_phoff + index * sizeof(Elf64_Phdr));
      if (segment && segment->p_type == PT_DYNAMIC) read_dynamic(segment->p_vaddr, tables);
    }
    return tables;
  }

  void read_dynamic(uint64_t offset, Tables& tables) const {
    for (; const auto entry = at<Elf64_Dyn>(offset); offset += sizeof(Elf64_Dyn)) {
      if (entry->d_tag == DT_NULL) return;
      if (entry->d_tag == DT_SYMTAB) tables.symbols = entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRTAB) tables.strings = entry->d_un.d_ptr;
      if (entry->d_tag == DT_HASH) {  // its second word is the number of symbols
        const auto count = at<uint32_t>(entry->d_un.d_ptr + sizeof(uint32_t));
        tables.symbol_count = count ? *count : 0;
      }
    }
  }

  uintptr_t base_;
  uintptr_t end_;
};

}  // namespace

std::string kernel_symbol(const Block& block, uint64_t kernel_object) {
  // An image starts on a page at or below its descriptors; several may share a block.
  uintptr_t base = kernel_object & ~(page_bytes - 1);
  for (; base >= block.host_address; base -= page_bytes) {
    const LoadedImage image(base, block.host_address + block.bytes);
    if (!image.is_code_object()) continue;
    std::string name = image.descriptor_name(kernel_object);
    if (!name.empty()) return name;
  }
  return {};
}

}  // namespace softgpu
