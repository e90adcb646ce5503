# What core needs from the rest of the tree when it is configured on its own: a compiler and CUnit, nothing else.
option(CORRAL_WERROR "Treat warnings as errors" OFF)
option(CORRAL_TESTS "Build the tests" ON)
set(CORRAL_CUDA AUTO CACHE STRING "The CUDA plug-in: ON, OFF, or AUTO for where there is an nvcc")
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()
include(GNUInstallDirs)
include(../cmake/CorralTargets.cmake)
find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)

# The part of base without YAML, JSON and checksums.
add_library(corral_base STATIC base/status.c base/log.c base/arena.c base/clock.c base/rng.c base/threads.c base/cores.c base/gpus.c)
target_include_directories(corral_base PUBLIC base/include PRIVATE base)
target_link_libraries(corral_base PUBLIC Threads::Threads)
corral_compile_options(corral_base)

enable_testing()
add_subdirectory(../tests/support support)
