# What makes the builds of tests cheaper. In the build of the package itself each file is compiled alone, which also checks
# that it includes what it uses of ours; tests/unit/native/test_includes.py checks the standard library's headers.

# The files of a library are compiled as one: most of the time goes to templates that they have in common.
set(package_objects wavescope_columns_objects wavescope_collector_core wavescope_collector_roctx wavescope_collector_calls
    wavescope_collector_cupti wavescope_collector_hsa softgpu_engine softgpu_kfd)
set_target_properties(${package_objects} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 0)
# These have names of their own that others of their library have, too: "redefinition" says which is missing here.
set(compiled_alone
    chrome_json/tokens.cpp collector_cupti/clock_pairs.cpp collector_cupti/collector_states.cpp
    collector_cupti/cupti_library.cpp collector_cupti/devices.cpp collector_hip/functions.cpp
    collector_hip/interface.cpp collector_hip/looked_up.cpp collector_hsa/ring_guard.cpp
    collector_hsa/signal_probe.cpp collector_roctx/nvtx_domains.cpp collector_roctx/roctx_interface.cpp
    core/file_thread.cpp core/session.cpp softgpu/kfd/render_ioctls.cpp softgpu/sdma_queue.cpp
    thread_trace/wave_reader.cpp trace_encoder/chrome_slices.cpp trace_encoder/lanes.cpp
    trace_encoder/perfetto_slices.cpp)
foreach(source IN LISTS compiled_alone)
  foreach(place IN ITEMS ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/softgpu)
    set_source_files_properties(${PROJECT_SOURCE_DIR}/${source} DIRECTORY ${place}
                                PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endforeach()
endforeach()

# Headers of HIP and CUPTI come first where declarations are compared with them. The software GPU has other options.
include(precompiled.cmake)
get_property(test_targets DIRECTORY ${PROJECT_SOURCE_DIR}/tests PROPERTY BUILDSYSTEM_TARGETS)
list(FILTER test_targets EXCLUDE REGEX "_(abi|abi_calls|signatures)|^thread_tests$")
set(with_usual_options ${package_objects})
list(FILTER with_usual_options EXCLUDE REGEX "^softgpu_")
share_precompiled_headers(precompiled ${with_usual_options} ${test_targets})
