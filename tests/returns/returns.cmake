# No return code of CUDA, cuBLAS or NCCL is dropped (returns.awk); first, that the check sees planted ones, all of them
# and no others. Run as  cmake -DROOT=<source tree> -P returns.cmake
find_program(AWK NAMES awk mawk gawk REQUIRED)
function(check result found)
  execute_process(COMMAND ${AWK} -f ${ROOT}/tests/returns/returns.awk ${ROOT}/kernels/gpu/cuda.h ${ARGN}
                  RESULT_VARIABLE status OUTPUT_VARIABLE output ERROR_VARIABLE error)
  if(NOT status MATCHES "^[01]$" OR error)
    message(FATAL_ERROR "awk: ${status} ${error}")
  endif()
  set(${result} ${status} PARENT_SCOPE)
  set(${found} "${output}" PARENT_SCOPE)
endfunction()

check(status found ${ROOT}/tests/returns/planted/dropped.txt)
string(REGEX MATCHALL ":[0-9]+: " lines "${found}")
if(NOT status EQUAL 1 OR NOT "${lines}" STREQUAL ":4: ;:5: ;:6: ;:7: ;:8: ;:9: ;:10: ;:11: ;:12: ")
  message(FATAL_ERROR "of the nine planted calls it found\n${found}")
endif()
check(status found ${ROOT}/tests/returns/planted/kept.txt)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "it took for dropped what is not\n${found}")
endif()

file(GLOB sources ${ROOT}/kernels/gpu/*.cu ${ROOT}/kernels/gpu/*.cuh ${ROOT}/backend/cuda/*.[ch] ${ROOT}/backend/cuda/comm/*.[ch] ${ROOT}/backend/cuda/*.cu
     ${ROOT}/tests/kernels/gpu/*.c ${ROOT}/tests/backend/cuda/*.c)
check(status found ${sources})
list(LENGTH sources count)
if(NOT status EQUAL 0 OR count LESS 10)
  message(FATAL_ERROR "in ${count} files:\n${found}")
endif()
message(STATUS "${count} files, no return code dropped")
