# Warnings, optimisation and sanitizers, stated once for every target of the project.
# nvcc has words of its own (cmake/cuda.cmake).
set(debug_info -g3)
set(debug_speed -O1)
if(SL_SANITIZE)
  set(debug_info -g1) # lines are what a report of theirs names
endif()
if(SL_SANITIZE MATCHES address)
  set(debug_speed -O0) # a fifth of the time to compile, and nothing is gone before it is looked at
endif()
add_compile_options("$<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Werror;-Wshadow>"
                    "$<$<COMPILE_LANGUAGE:C>:-Wstrict-prototypes;-fno-common>"
                    "$<$<AND:$<CONFIG:Debug>,$<COMPILE_LANGUAGE:C,CXX>>:${debug_speed};${debug_info}>"
                    "$<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:C,CXX>>:-g1>")
add_compile_definitions(_GNU_SOURCE)
if(SL_SANITIZE)
  add_compile_options(
    "$<$<COMPILE_LANGUAGE:C,CXX>:-fsanitize=${SL_SANITIZE};-fno-omit-frame-pointer;-fno-sanitize-recover=all>")
  add_link_options(-fsanitize=${SL_SANITIZE})
  find_program(SL_GOLD ld.gold) # of binutils; links a runtime of sanitizers to each program in two thirds of the time
  if(SL_GOLD AND CMAKE_C_COMPILER_ID MATCHES "Clang")
    add_link_options(-fuse-ld=gold)
  endif()
  if(SL_FUZZ) # counters only: what traces each comparison too would make the unit tests three times as slow, and a table of their
              # places, which is for reports alone, each start of a program by as many relocations
    add_compile_options($<$<COMPILE_LANGUAGE:C>:-fsanitize-coverage=inline-8bit-counters>)
  endif()
  if(SL_SANITIZE MATCHES integer)
    add_compile_options("$<$<COMPILE_LANGUAGE:C>:-fsanitize-ignorelist=${PROJECT_SOURCE_DIR}/cmake/wraps.txt>")
  endif()
  if(CMAKE_C_COMPILER_ID MATCHES "Clang")
    add_compile_options($<$<COMPILE_LANGUAGE:C>:-Wno-pass-failed>) # checks in a loop keep it from being vectorised
  endif()
endif()
# Kernels are plain C that the compiler vectorises. Errno and traps are not part of their contract; the order of sums is,
# so -ffast-math stays off and reductions say `omp simd` where any order will do. Where there are vectors of 512 bits,
# compilers keep to 256 unless told: the products of a step use the wide ones anyway, whatever the clock makes of it.
if(SL_SANITIZE)
  set(SL_KERNEL_SPEED -O1) # what sanitizers look at is not vectorised, and half the time to compile
else()
  set(SL_KERNEL_SPEED -O3)
endif()
set(SL_KERNEL_FLAGS ${SL_KERNEL_SPEED} -fno-math-errno -fno-trapping-math -ffp-contract=fast -mprefer-vector-width=512
    $<IF:$<BOOL:${SL_NATIVE}>,-march=native,-march=x86-64-v3>)
