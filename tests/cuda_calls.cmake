# No call of CUDA, cuBLAS or NCCL may drop its return code: none stands as a statement of its own, alone or cast to void.
# usage: cmake -DSOURCE=... -P cuda_calls.cmake (with -DTEXT=... it reads that text instead, to test itself)
function(dropped text out)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "/[*]([^*]|[*]+[^*/])*[*]+/" "" text "${text}")
  string(REPLACE ";" "\n@" text "${text}") # a semicolon would cut the list of matches
  string(REGEX MATCHALL "((@|[{}]|[(]void[)])[ \t\n]*|[)][ \t\n]+|else[ \t\n]+)(cuda|cublas|cublasLt|nccl|cudnn)[A-Z][A-Za-z0-9_]*[(]" found
                        "${text}")
  set(${out} "${found}" PARENT_SCOPE)
endfunction()

foreach(bad "{ cudaFree(x); }" "a();\n  ncclCommDestroy(c);" "if (x) cublasLtDestroy(h);" "(void)cudaFree(x);"
            "else cudaFree(x);")
  dropped("${bad}" found)
  if(NOT found)
    message(FATAL_ERROR "the check does not see: ${bad}")
  endif()
endforeach()
foreach(good "x = cudaFree(p);" "SL_CUDA_TRY(\n    cudaFree(p));" "f(a, cudaFree(p));" "/* { cudaFree(x); } */"
             "return cudaFree(p);" "m && cudaFree(p) == cudaSuccess"
             "return (int)cudaFree(p);" "b ? cudaFree(p) : cudaFree(q)")
  dropped("${good}" found)
  if(found)
    message(FATAL_ERROR "the check complains of: ${good}")
  endif()
endforeach()

file(GLOB files ${SOURCE}/backend/cuda/*.c ${SOURCE}/kernels/*.cu ${SOURCE}/kernels/*.cuh ${SOURCE}/tests/cuda/*.c)
set(complaints "")
foreach(file ${files})
  file(READ ${file} text)
  dropped("${text}" found)
  if(found)
    string(APPEND complaints "${file}: ${found}\n")
  endif()
endforeach()
if(complaints)
  message(FATAL_ERROR "return codes are dropped:\n${complaints}")
endif()
