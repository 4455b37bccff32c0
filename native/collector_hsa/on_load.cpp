#include <cstdint>

#define WAVESCOPE_EXPORT extern "C" __attribute__((visibility("default")))

WAVESCOPE_EXPORT bool OnLoad(void*, uint64_t, uint64_t, const char* const*) { return true; }
WAVESCOPE_EXPORT void OnUnload() {}
