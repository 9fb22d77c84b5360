# The part of the cuda backend that needs no GPU and no CUDA: where a process stands, how ranks meet, which streams,
# events, communicators and workspaces a program asks for. Built and tested everywhere.
set(SL_CUDA_PLAIN place comm/rendezvous events comm/links workspace choices)
list(TRANSFORM SL_CUDA_PLAIN PREPEND cuda/)
list(TRANSFORM SL_CUDA_PLAIN APPEND .c)
add_library(shardlab_cuda_plain STATIC ${SL_CUDA_PLAIN})
sl_in_room(shardlab_cuda_plain backend/cuda)
target_link_libraries(shardlab_cuda_plain PUBLIC shardlab_common shardlab_core Threads::Threads)

file(GLOB_RECURSE cuda_sources CONFIGURE_DEPENDS cuda/*.c)
foreach(source ${SL_CUDA_PLAIN})
  list(REMOVE_ITEM cuda_sources ${CMAKE_CURRENT_SOURCE_DIR}/${source})
endforeach()
if(NOT SL_HAVE_CUDA) # cmake/cuda.cmake has said so
  # Where the headers are all the same its C is compiled: a build with sanitizers shows it to clang, and runs it on stand-ins
  # (tests/stand_ins).
  find_path(SL_CUDA_HEADERS cuda_runtime_api.h HINTS /usr/local/cuda/include)
  find_path(SL_NCCL_HEADERS nccl.h HINTS /usr/local/cuda/include)
  if(SL_SANITIZE AND SL_CUDA_HEADERS AND SL_NCCL_HEADERS)
    set(NCCL_INCLUDE ${SL_NCCL_HEADERS})
    set(CUDAToolkit_INCLUDE_DIRS ${SL_CUDA_HEADERS})
    add_library(shardlab_cuda_objects OBJECT ${cuda_sources})
    sl_in_room(shardlab_cuda_objects backend/cuda)
    target_include_directories(shardlab_cuda_objects SYSTEM PRIVATE ${SL_CUDA_HEADERS} ${SL_NCCL_HEADERS})
    target_link_libraries(shardlab_cuda_objects PRIVATE shardlab_cuda_plain shardlab_common shardlab_core Threads::Threads)
  endif()
  return()
endif()
find_path(NCCL_INCLUDE nccl.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
find_library(NCCL_LIBRARY nccl HINTS ${CUDAToolkit_LIBRARY_DIR})
if(NOT NCCL_INCLUDE OR NOT NCCL_LIBRARY)
  message(STATUS "NCCL is absent: the cuda backend is not built")
  return()
endif()
# As objects: the module, and the tests that put stand-ins for CUDA's libraries under them.
add_library(shardlab_cuda_objects OBJECT ${cuda_sources})
sl_in_room(shardlab_cuda_objects backend/cuda)
target_include_directories(shardlab_cuda_objects SYSTEM PRIVATE ${NCCL_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
target_link_libraries(shardlab_cuda_objects PRIVATE shardlab_cuda_plain shardlab_common shardlab_core Threads::Threads)
add_library(shardlab_cuda MODULE $<TARGET_OBJECTS:shardlab_cuda_objects>)
set_target_properties(shardlab_cuda PROPERTIES LINKER_LANGUAGE C)
target_link_libraries(shardlab_cuda PRIVATE shardlab_cuda_plain shardlab_common shardlab_cuda_control
                      shardlab_kernels_cuda shardlab_core CUDA::cudart_static CUDA::cublasLt ${NCCL_LIBRARY} Threads::Threads m)
