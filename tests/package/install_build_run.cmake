# Installs the package into its own prefix, builds examples/cpp against it as a user would, and runs the result; with
# MPI also ranks/.

set(prefix ${WORK_DIR}/prefix)
file(REMOVE_RECURSE ${WORK_DIR})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${out}\nexit code ${code}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

function(build source)
  run(${CMAKE_COMMAND} -S ${source} -B ${build} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
      -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${prefix})
  run(${CMAKE_COMMAND} --build ${build})
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component dev --prefix ${prefix})

set(build ${WORK_DIR}/example)
build(${CMAKE_CURRENT_LIST_DIR}/../../examples/cpp)
run(${build}/example)
# Computed with numpy in double precision: 0.010064546 and -0.00589279, -0.10464178.
set(expected "mask    causal & window(128)
output  -0.0059 -0.1046 ... of query 3000
weight  0.01006 of query 3000 on key 2990
memory  1040 kB for the results; the table would be 65536 kB
")
if(NOT out STREQUAL expected)
  message(FATAL_ERROR "the example printed:\n${out}")
endif()

if(WITH_MPI)
  set(build ${WORK_DIR}/ranks)
  build(${CMAKE_CURRENT_LIST_DIR}/ranks)
  run(${MPIRUN} ${LIBRARY} 2 ${build}/several)
  if(NOT out MATCHES "^16\\.04 3\\.96\n$")
    message(FATAL_ERROR "the user program of two ranks printed: ${out}")
  endif()
endif()
