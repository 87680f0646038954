# The floors of DESIGN: one folder under src/ is one object library. It sees its
# own headers and those of its DEPS (and of theirs), nothing else: every folder
# has an include root of its own, so an #include against the current does not
# compile.

add_library(batchfeed_flags INTERFACE)
target_compile_options(batchfeed_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wsign-conversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast
  # What one file keeps to itself another may name alike; these would compare them.
  $<$<BOOL:${CMAKE_UNITY_BUILD}>:-Wno-shadow;$<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>>
  # gcc 12 finds these two in the optimised std::string, where they are not.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict;-Wno-maybe-uninitialized>
  $<$<BOOL:${BATCHFEED_WERROR}>:-Werror>
  # Values must not depend on how a compiler contracts a multiply and an add.
  -ffp-contract=off)
if(BATCHFEED_SANITIZE)
  add_compile_options(-fsanitize=${BATCHFEED_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BATCHFEED_SANITIZE})
endif()
if(BATCHFEED_COVERAGE)
  add_compile_options(-fprofile-instr-generate -fcoverage-mapping)
  add_link_options(-fprofile-instr-generate)
endif()
if(BATCHFEED_BUILD_FUZZERS)
  add_compile_options(-fsanitize=fuzzer-no-link)
  add_compile_definitions(BATCHFEED_SMALL_PIECES)  # base/piece.h
endif()

# batchfeed_module(formats/ctf SOURCES scan.cc ... DEPS model io base)
function(batchfeed_module folder)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  string(REPLACE "/" "_" name "${folder}")
  set(root "${PROJECT_BINARY_DIR}/include-roots/${name}")
  cmake_path(GET folder PARENT_PATH parent)
  file(MAKE_DIRECTORY "${root}/${parent}")
  file(CREATE_LINK "${PROJECT_SOURCE_DIR}/src/${folder}" "${root}/${folder}" SYMBOLIC)

  list(TRANSFORM arg_DEPS REPLACE "/" "_")
  list(TRANSFORM arg_DEPS PREPEND "batchfeed_")
  if(arg_SOURCES)
    list(TRANSFORM arg_SOURCES PREPEND "${PROJECT_SOURCE_DIR}/src/${folder}/")
    add_library(batchfeed_${name} OBJECT ${arg_SOURCES})
    target_include_directories(batchfeed_${name} PUBLIC
      "${root}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/generated")
    target_link_libraries(batchfeed_${name} PUBLIC ${arg_DEPS} PRIVATE batchfeed_flags)
    target_sources(batchfeed PRIVATE $<TARGET_OBJECTS:batchfeed_${name}>)
  else()  # headers only
    add_library(batchfeed_${name} INTERFACE)
    target_include_directories(batchfeed_${name} INTERFACE
      "${root}" "${PROJECT_SOURCE_DIR}/include" "${PROJECT_BINARY_DIR}/generated")
    target_link_libraries(batchfeed_${name} INTERFACE ${arg_DEPS})
  endif()
endfunction()

# batchfeed_test(formats/ctf scan_test.cc ... [LIBS rapidcheck] [DEPS ...] [THREADS])
# One test program a folder, named after it; it may see the folder's floors.
# THREADS: it starts threads, and so ./test also runs it under the thread sanitizer.
function(batchfeed_test folder)
  if(NOT BATCHFEED_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "THREADS" "" "LIBS;DEPS")
  string(REPLACE "/" "_" name "${folder}")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  list(TRANSFORM sources PREPEND "${PROJECT_SOURCE_DIR}/src/${folder}/")
  add_executable(${name}_test ${sources})
  target_include_directories(${name}_test PRIVATE "${PROJECT_SOURCE_DIR}/src")
  list(TRANSFORM arg_DEPS REPLACE "/" "_")
  list(TRANSFORM arg_DEPS PREPEND "batchfeed_")
  target_link_libraries(${name}_test PRIVATE batchfeed batchfeed_${name} ${arg_DEPS} batchfeed_flags GTest::gtest_main GTest::gmock ${arg_LIBS})
  add_dependencies(batchfeed_tests ${name}_test)
  add_test(NAME ${name} COMMAND ${name}_test)
  set_tests_properties(${name} PROPERTIES WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  if(arg_THREADS)
    set_tests_properties(${name} PROPERTIES LABELS threads)
  endif()
endfunction()

# batchfeed_fuzz(formats/ctf scan [COUNTS])  from scan_fuzz.cc: a libFuzzer program, and a
# plain test that replays tests/fuzz/{seeds,regressions}/<target> with any compiler.
# COUNTS: its files hold counts in binary, which are mutated as such.
function(batchfeed_fuzz folder target)
  cmake_parse_arguments(PARSE_ARGV 2 arg "COUNTS" "" "")
  string(REPLACE "/" "_" name "${folder}")
  set(source "${PROJECT_SOURCE_DIR}/src/${folder}/${target}_fuzz.cc")
  cmake_path(GET folder FILENAME last)
  if(BATCHFEED_BUILD_FUZZERS)
    add_executable(fuzz_${last}_${target} ${source} "${PROJECT_SOURCE_DIR}/tests/fuzz/budget.cc"
      $<$<BOOL:${arg_COUNTS}>:${PROJECT_SOURCE_DIR}/tests/fuzz/counts.cc>)
    target_include_directories(fuzz_${last}_${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(fuzz_${last}_${target} PRIVATE batchfeed batchfeed_${name} batchfeed_flags)
    target_link_options(fuzz_${last}_${target} PRIVATE -fsanitize=fuzzer -Wl,--wrap=LLVMFuzzerTestOneInput)
  endif()
  if(BATCHFEED_BUILD_TESTS AND NOT BATCHFEED_BUILD_FUZZERS)
    add_executable(replay_${last}_${target} ${source} "${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cc")
    target_include_directories(replay_${last}_${target} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(replay_${last}_${target} PRIVATE batchfeed batchfeed_${name} batchfeed_flags)
    add_dependencies(batchfeed_tests replay_${last}_${target})
    add_test(NAME fuzz_replay_${last}_${target}
      COMMAND replay_${last}_${target}
        "${PROJECT_SOURCE_DIR}/tests/fuzz/seeds/${last}_${target}" "${PROJECT_SOURCE_DIR}/tests/fuzz/regressions/${last}_${target}")
  endif()
endfunction()

# One program of benchmarks a folder. MAIN: without a main() of its own.
function(batchfeed_bench folder source)
  if(NOT BATCHFEED_BUILD_BENCHMARKS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 2 arg "MAIN" "" "")
  find_package(benchmark REQUIRED)
  string(REPLACE "/" "_" name "${folder}")
  add_executable(${name}_bench "${PROJECT_SOURCE_DIR}/src/${folder}/${source}")
  target_link_libraries(${name}_bench PRIVATE batchfeed batchfeed_${name} batchfeed_flags
    $<IF:$<BOOL:${arg_MAIN}>,benchmark::benchmark_main,benchmark::benchmark>)
endfunction()
