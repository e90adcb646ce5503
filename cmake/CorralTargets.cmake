# The three things that a folder's CMakeLists.txt says: a layer, a program, a test.
# Each layer exports only its own include folder, so that an include of a layer that is not linked does not compile.
# Two targets gather what they make: `programs` is what training needs, `thread-tests` the tests labelled threads.

set(CORRAL_WARNINGS -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wpointer-arith -Wvla
    -Wcast-qual -Wwrite-strings -Wundef -Wno-missing-field-initializers)
if(CORRAL_WERROR)
  list(APPEND CORRAL_WARNINGS -Werror)
endif()

function(corral_compile_options target)
  # A section for each function, so that a library may leave out what nobody calls.
  target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:C>:${CORRAL_WARNINGS}>
    $<$<COMPILE_LANGUAGE:C>:-ffunction-sections> $<$<COMPILE_LANGUAGE:C>:-fdata-sections>)
  set_target_properties(${target} PROPERTIES C_STANDARD 17 C_STANDARD_REQUIRED ON C_EXTENSIONS OFF
    POSITION_INDEPENDENT_CODE ON C_VISIBILITY_PRESET default)
  target_compile_definitions(${target} PRIVATE _GNU_SOURCE)
endfunction()

# corral_layer(corral_core SOURCES a.c b.c LINKS corral_base [SYSTEM m])
function(corral_layer name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;SYSTEM" ${ARGN})
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/include>
    PRIVATE ${CMAKE_CURRENT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_SYSTEM})
  corral_compile_options(${name})
  set_property(GLOBAL APPEND PROPERTY CORRAL_LAYERS ${name})
  set_property(GLOBAL APPEND PROPERTY CORRAL_INCLUDE_DIRS ${CMAKE_CURRENT_SOURCE_DIR}/include)
endfunction()

# corral_program(corral-worker SOURCES main.c LINKS corral_rllib): lands in <build>/bin and is installed.
function(corral_program name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE ${arg_LINKS})
  corral_compile_options(${name})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin ENABLE_EXPORTS ON)
  target_link_options(${name} PRIVATE -Wl,--as-needed)
  install(TARGETS ${name} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  corral_gather(programs ${name})
endfunction()

function(corral_gather gathering target)
  if(NOT TARGET ${gathering})
    add_custom_target(${gathering})
  endif()
  add_dependencies(${gathering} ${target})
endfunction()

# corral_test(core_gradients SOURCES gradients.c LINKS corral_core [LABELS threads long] [SECONDS 60] [ARGS ...])
# Label "long" keeps a test out of the everyday suite; "threads" puts it into the run under TSan;
# "serial" means that no other test may run beside it.
function(corral_test name)
  cmake_parse_arguments(arg "" "SECONDS" "SOURCES;LINKS;LABELS;ARGS" ${ARGN})
  if(NOT CORRAL_TESTS)
    return()
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 120)
  endif()
  add_executable(test_${name} ${arg_SOURCES})
  target_link_libraries(test_${name} PRIVATE ${arg_LINKS} corral_test_support)
  corral_compile_options(test_${name})
  target_compile_definitions(test_${name} PRIVATE
    CORRAL_SOURCE_DIR="${CMAKE_SOURCE_DIR}" CORRAL_BIN_DIR="${CMAKE_BINARY_DIR}/bin")
  set_target_properties(test_${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests ENABLE_EXPORTS ON)
  add_test(NAME ${name} COMMAND test_${name} ${arg_ARGS})
  if("threads" IN_LIST arg_LABELS)
    corral_gather(thread-tests test_${name})
  endif()
  corral_test_properties(${name} ${arg_SECONDS} "${arg_LABELS}")
endfunction()

# corral_script_test(cli_train SCRIPT train.sh [LABELS ...] [SECONDS 60] [ARGS ...]): a bash script; exit 77 means skipped.
function(corral_script_test name)
  cmake_parse_arguments(arg "" "SECONDS;SCRIPT" "LABELS;ARGS" ${ARGN})
  if(NOT CORRAL_TESTS)
    return()
  endif()
  if(NOT arg_SECONDS)
    set(arg_SECONDS 120)
  endif()
  add_test(NAME ${name} COMMAND bash ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGS})
  if("threads" IN_LIST arg_LABELS)
    corral_gather(thread-tests programs)
  endif()
  corral_test_properties(${name} ${arg_SECONDS} "${arg_LABELS}")
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT
    "CORRAL_BIN=${CMAKE_BINARY_DIR}/bin;CORRAL_SOURCE=${CMAKE_SOURCE_DIR};CORRAL_BUILD=${CMAKE_BINARY_DIR}")
endfunction()

function(corral_test_properties name seconds labels)
  set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds} SKIP_RETURN_CODE 77 LABELS "${labels}")
  if("serial" IN_LIST labels)
    set_tests_properties(${name} PROPERTIES RUN_SERIAL ON)
  endif()
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT "CORRAL_SANITIZER=${CORRAL_SANITIZER}"
    "UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1" "ASAN_OPTIONS=detect_leaks=1:abort_on_error=0:allocator_may_return_null=1"
    "LSAN_OPTIONS=suppressions=${CMAKE_SOURCE_DIR}/tests/sanitizers/lsan.supp:print_suppressions=0"
    "TSAN_OPTIONS=halt_on_error=1:suppressions=${CMAKE_SOURCE_DIR}/tests/sanitizers/tsan.supp")
endfunction()
