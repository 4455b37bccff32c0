# Reading the standard library's headers is a third of what it costs to compile: GCC does it once for all of them.
set(precompiled_headers <algorithm> <array> <atomic> <chrono> <cstdint> <cstdio> <cstdlib> <cstring> <functional> <map>
    <memory> <mutex> <optional> <set> <string> <string_view> <thread> <unordered_map> <unordered_set> <utility> <vector>)

# What is compiled with the options of `first` shares one; what reuses it waits for nothing else.
function(share_precompiled_headers name first)
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    return()
  endif()
  file(WRITE ${PROJECT_BINARY_DIR}/${name}.cpp "")
  add_library(${name} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/${name}.cpp)
  target_precompile_headers(${name} PRIVATE ${precompiled_headers})
  get_target_property(options ${first} COMPILE_OPTIONS)
  set_target_properties(${name} PROPERTIES COMPILE_OPTIONS "${options}")
  foreach(target IN LISTS first ARGN)
    target_precompile_headers(${target} REUSE_FROM ${name})
  endforeach()
endfunction()
