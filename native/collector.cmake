# libwavescope_collector.so: what is injected into a recorded program, by HSA_TOOLS_LIB and LD_PRELOAD alike. It needs the
# headers of HSA at build time for GPU operations, and no library of ROCm at all.
find_path(WAVESCOPE_HSA_INCLUDE hsa/hsa_api_trace.h PATHS /opt/rocm/include)

file(GLOB collector_core_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/core/*.cpp)
add_library(wavescope_collector_core OBJECT ${collector_core_sources})
target_include_directories(wavescope_collector_core PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if(DEFINED SKBUILD_PROJECT_VERSION)
  target_compile_definitions(wavescope_collector_core PRIVATE WAVESCOPE_VERSION="${SKBUILD_PROJECT_VERSION}")
endif()

# Markers and API calls need no header at all; without those of HSA only the GPU's side is left out.
file(GLOB collector_host_sources CONFIGURE_DEPENDS
     ${CMAKE_CURRENT_SOURCE_DIR}/collector_roctx/*.cpp
     ${CMAKE_CURRENT_SOURCE_DIR}/collector_hip/*.cpp)
add_library(wavescope_collector_host OBJECT ${collector_host_sources})
target_include_directories(wavescope_collector_host PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
if(WAVESCOPE_HSA_INCLUDE)
  file(GLOB collector_hsa_sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/collector_hsa/*.cpp)
else()
  message(STATUS "hsa/hsa_api_trace.h not found: the collector is built without GPU operations (see docs/install.md)")
endif()
add_library(wavescope_collector SHARED ${collector_hsa_sources}
            $<TARGET_OBJECTS:wavescope_collector_host> $<TARGET_OBJECTS:wavescope_collector_core>)
target_include_directories(wavescope_collector PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
target_link_libraries(wavescope_collector PRIVATE ${CMAKE_DL_LIBS})
if(WAVESCOPE_HSA_INCLUDE)
  target_include_directories(wavescope_collector SYSTEM PRIVATE ${WAVESCOPE_HSA_INCLUDE} ${WAVESCOPE_HSA_INCLUDE}/hsa)
  target_compile_definitions(wavescope_collector PRIVATE AMD_INTERNAL_BUILD)
endif()
# Its threads may run until the process is gone, so it is never unloaded; only the names that others call leave it.
target_link_options(wavescope_collector PRIVATE -Wl,-z,nodelete
                    -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/collector.map)
set_target_properties(wavescope_collector PROPERTIES LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/collector.map)
install(TARGETS wavescope_collector LIBRARY DESTINATION .)
