# What is injected into a recorded program, by HSA_TOOLS_LIB, CUDA_INJECTION64_PATH and LD_PRELOAD alike:
# libwavescope_collector.so, or for --mode hip libwavescope_collector_hip.so, which has the functions of HIP on top. What
# they use of HSA, HIP and CUPTI is declared here: they need no header and no library of ROCm or CUDA.

file(GLOB collector_core_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/core/*.cpp)
# Programs that are built with sanitizers have the sanitizers' operators.
set(collector_operators_source ${CMAKE_CURRENT_SOURCE_DIR}/core/operator_new.cpp)
list(REMOVE_ITEM collector_core_sources ${collector_operators_source})
add_library(wavescope_collector_core OBJECT ${collector_core_sources})
target_include_directories(wavescope_collector_core PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if(DEFINED SKBUILD_PROJECT_VERSION)
  target_compile_definitions(wavescope_collector_core PRIVATE WAVESCOPE_VERSION="${SKBUILD_PROJECT_VERSION}")
endif()

file(GLOB collector_roctx_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/collector_roctx/*.cpp)
add_library(wavescope_collector_roctx OBJECT ${collector_roctx_sources})
target_include_directories(wavescope_collector_roctx PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
file(GLOB collector_calls_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/collector_hip/*.cpp)
# A program that has dlsym itself, as the tests would, cannot be built with sanitizers: they need the linker's.
set(collector_dlsym_source ${CMAKE_CURRENT_SOURCE_DIR}/collector_hip/dlsym.cpp)
list(REMOVE_ITEM collector_calls_sources ${collector_dlsym_source})
add_library(wavescope_collector_calls OBJECT ${collector_calls_sources})
target_include_directories(wavescope_collector_calls PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
file(GLOB collector_cupti_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/collector_cupti/*.cpp)
add_library(wavescope_collector_cupti OBJECT ${collector_cupti_sources})
target_include_directories(wavescope_collector_cupti PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
file(GLOB collector_hsa_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/collector_hsa/*.cpp)
add_library(wavescope_collector_hsa OBJECT ${collector_hsa_sources})
target_include_directories(wavescope_collector_hsa PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
set(collector_objects $<TARGET_OBJECTS:wavescope_collector_roctx> $<TARGET_OBJECTS:wavescope_collector_cupti>
    $<TARGET_OBJECTS:wavescope_collector_hsa> $<TARGET_OBJECTS:wavescope_collector_core>)

add_library(wavescope_collector SHARED ${collector_operators_source} ${collector_objects})
add_library(wavescope_collector_hip SHARED ${collector_operators_source} ${collector_dlsym_source} ${collector_objects}
            $<TARGET_OBJECTS:wavescope_collector_calls>)
foreach(collector IN ITEMS wavescope_collector wavescope_collector_hip)
  target_include_directories(${collector} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  set_target_properties(${collector} PROPERTIES LINKER_LANGUAGE CXX
                        LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/collector.map)
  target_link_libraries(${collector} PRIVATE ${CMAKE_DL_LIBS})
  # Its threads may run until the process is gone, so it is never unloaded; only the names that others call leave it.
  target_link_options(${collector} PRIVATE -Wl,-z,nodelete
                      -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/collector.map)
  install(TARGETS ${collector} LIBRARY DESTINATION .)
endforeach()
