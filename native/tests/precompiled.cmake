# Reading the standard library's headers is a third of what it costs to compile the tests: GCC does it once for all of them.
# What a file includes is checked by the build of the package itself, which precompiles nothing.
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  return()
endif()
set(precompiled_headers <algorithm> <array> <atomic> <chrono> <cstdint> <cstdio> <cstdlib> <cstring> <functional> <map>
    <memory> <mutex> <optional> <set> <string> <string_view> <thread> <unordered_map> <unordered_set> <utility> <vector>)

# One for all that is compiled with the same options; the software GPU has one of its own.
target_precompile_headers(wavescope_columns_objects PRIVATE ${precompiled_headers})
target_precompile_headers(softgpu_engine PRIVATE ${precompiled_headers})
target_precompile_headers(softgpu_kfd REUSE_FROM softgpu_engine)

get_property(package_targets DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTY BUILDSYSTEM_TARGETS)
get_property(test_targets DIRECTORY ${PROJECT_SOURCE_DIR}/tests PROPERTY BUILDSYSTEM_TARGETS)
foreach(target IN LISTS package_targets test_targets)
  get_target_property(type ${target} TYPE)
  # Headers of HIP and CUPTI come first where declarations are compared with them.
  if(type STREQUAL "UTILITY" OR target STREQUAL "wavescope_columns_objects" OR target MATCHES "_(abi|abi_calls|signatures)")
    continue()
  endif()
  target_precompile_headers(${target} REUSE_FROM wavescope_columns_objects)
endforeach()
