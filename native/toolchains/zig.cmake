# Cross compiles with zig, whose C++ compiler brings headers and libraries of every target: tools/wheels gives
# WAVESCOPE_ZIG, the program; WAVESCOPE_ZIG_TARGET, such as x86_64-linux-gnu.2.28, with the oldest glibc that is to do;
# WAVESCOPE_ZIG_CPU, the oldest processor; WAVESCOPE_ZIG_SYSTEM and WAVESCOPE_ZIG_PROCESSOR, as CMake calls them.
set(CMAKE_TRY_COMPILE_PLATFORM_VARIABLES WAVESCOPE_ZIG WAVESCOPE_ZIG_TARGET WAVESCOPE_ZIG_CPU WAVESCOPE_ZIG_SYSTEM
    WAVESCOPE_ZIG_PROCESSOR)
set(CMAKE_SYSTEM_NAME ${WAVESCOPE_ZIG_SYSTEM})
set(CMAKE_SYSTEM_PROCESSOR ${WAVESCOPE_ZIG_PROCESSOR})
set(CMAKE_CXX_COMPILER ${WAVESCOPE_ZIG} c++ -target ${WAVESCOPE_ZIG_TARGET} -mcpu=${WAVESCOPE_ZIG_CPU})
# Paths of the machine that builds do not get into the libraries, and neither do names and lines for a debugger. CMake's
# trials have the same flags, and most link nothing, because zig compiles its C++ library anew for other ones.
set(CMAKE_CXX_FLAGS_INIT "-O3 -g0 -s -fno-sanitize=undefined -ffile-prefix-map=${CMAKE_SOURCE_DIR}=wavescope")
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
set(CMAKE_CXX_ARCHIVE_CREATE "${WAVESCOPE_ZIG} ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "")
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
if(WAVESCOPE_ZIG_SYSTEM STREQUAL "Darwin")
  # Asked for by CMake, called by nothing: libraries without search paths are installed as they were linked.
  set(CMAKE_INSTALL_NAME_TOOL ${CMAKE_COMMAND})
  set(CMAKE_OSX_SYSROOT "" CACHE STRING "zig has its own")
  set(CMAKE_SKIP_RPATH ON)
else()
  # Two collectors have one list of names, and not all are in both, which GNU's linker takes without being asked.
  set(CMAKE_SHARED_LINKER_FLAGS_INIT "-Wl,--undefined-version")
endif()
