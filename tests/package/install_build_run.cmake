# Installs the package into a prefix of its own, builds user/ against it as a stranger would, and runs the result.

set(prefix ${WORK_DIR}/prefix)
set(build ${WORK_DIR}/build)
file(REMOVE_RECURSE ${WORK_DIR})

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE code OUTPUT_VARIABLE out ERROR_VARIABLE out)
  if(NOT code EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\n${out}\nexit code ${code}")
  endif()
  set(out "${out}" PARENT_SCOPE)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD_DIR} --component dev --prefix ${prefix})
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR}/user -B ${build} -G ${GENERATOR} -DCMAKE_BUILD_TYPE=Release
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${prefix} -DWITH_MPI=${WITH_MPI})
run(${CMAKE_COMMAND} --build ${build})
run(${build}/user)
if(NOT out MATCHES "^16\\.04 3\\.96\n$")
  message(FATAL_ERROR "the user program printed: ${out}")
endif()

if(WITH_MPI)
  run(${MPIRUN} ${LIBRARY} 2 ${build}/several)
  if(NOT out MATCHES "^16\\.04 3\\.96\n$")
    message(FATAL_ERROR "the user program of two ranks printed: ${out}")
  endif()
endif()
