# Every tests/fuzz_NAME.c is one libFuzzer program and one CTest with the label "fuzz"; tests/corpus/NAME/ holds its seeds
# and tests/corpus/NAME.dict, where there is one, the words of its language.
# Built with SL_FUZZ=ON (preset clang), against core compiled with the same sanitizers.
if(NOT SL_FUZZ)
  return()
endif()
if(NOT CMAKE_C_COMPILER_ID MATCHES "Clang")
  message(FATAL_ERROR "SL_FUZZ needs clang; use the preset clang")
endif()
set(SL_FUZZ_SECONDS 60 CACHE STRING "Seconds that each fuzz test runs")

file(GLOB_RECURSE fuzz_core CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/*.c)
set_source_files_properties(${SL_PROFILES_C} PROPERTIES GENERATED TRUE)
add_library(shardlab_core_fuzz STATIC ${fuzz_core} ${SL_PROFILES_C})
add_dependencies(shardlab_core_fuzz embedded_profiles)
target_compile_options(shardlab_core_fuzz PRIVATE -fsanitize=fuzzer-no-link,address,undefined
                       -fno-sanitize-recover=all -fno-omit-frame-pointer)
target_link_libraries(shardlab_core_fuzz PUBLIC PkgConfig::JANSSON Threads::Threads ${CMAKE_DL_LIBS} m)

file(GLOB fuzz_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/tests/fuzz_*.c)
foreach(source ${fuzz_sources})
  get_filename_component(target ${source} NAME_WE)
  string(REPLACE fuzz_ "" name ${target})
  add_executable(${target} ${source})
  target_compile_options(${target} PRIVATE -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all)
  target_link_options(${target} PRIVATE -fsanitize=fuzzer,address,undefined)
  target_link_libraries(${target} PRIVATE shardlab_core_fuzz)
  # New inputs go to the build folder; the committed seeds are only read.
  set(folder ${PROJECT_BINARY_DIR}/fuzz/${name})
  file(MAKE_DIRECTORY ${folder})
  set(seeds ${PROJECT_SOURCE_DIR}/tests/corpus/${name})
  if(NOT EXISTS ${seeds})
    set(seeds)
  endif()
  set(words ${PROJECT_SOURCE_DIR}/tests/corpus/${name}.dict)
  if(EXISTS ${words})
    list(PREPEND seeds -dict=${words})
  endif()
  add_test(NAME ${target} COMMAND ${target} -max_total_time=${SL_FUZZ_SECONDS} -rss_limit_mb=2048
           -artifact_prefix=${folder}- ${folder} ${seeds})
  math(EXPR limit "${SL_FUZZ_SECONDS} + 240")
  set_tests_properties(${target} PROPERTIES LABELS fuzz TIMEOUT ${limit})
endforeach()
