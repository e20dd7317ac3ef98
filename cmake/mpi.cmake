# attnscope::mpi and everything else that uses MPI; nothing else links it. Each installed MPI library gets its own
# build, since a binary works only with the library it was built for: openmpi and mpich under their own names, any other
# as "mpi". ATTNSCOPE_MPI=OFF disables all of it.

option(ATTNSCOPE_MPI "Build what runs on several machines, if there is an MPI library" ON)
set(ATTNSCOPE_MPI_LIBRARIES "")
set(mpi_packages "")
if(NOT ATTNSCOPE_MPI)
  file(WRITE ${PROJECT_BINARY_DIR}/mpi-packages "")
  return()
endif()

find_package(PkgConfig REQUIRED)
foreach(name_and_package openmpi=ompi-c mpich=mpich)
  string(REPLACE "=" ";" pair ${name_and_package})
  list(GET pair 0 name)
  list(GET pair 1 package)
  pkg_check_modules(mpi_${name} QUIET IMPORTED_TARGET ${package})
  if(mpi_${name}_FOUND)
    list(APPEND ATTNSCOPE_MPI_LIBRARIES ${name})
    set(mpi_${name}_package ${package})
    string(APPEND mpi_packages "${package}\n")
    add_library(attn_mpi_library_${name} ALIAS PkgConfig::mpi_${name})
  endif()
endforeach()
if(NOT ATTNSCOPE_MPI_LIBRARIES)
  set(MPI_CXX_SKIP_MPICXX TRUE)  # we use only the C interface
  find_package(MPI QUIET COMPONENTS CXX)
  if(MPI_CXX_FOUND)
    set(ATTNSCOPE_MPI_LIBRARIES mpi)
    add_library(attn_mpi_library_mpi ALIAS MPI::MPI_CXX)
  endif()
endif()

foreach(name IN LISTS ATTNSCOPE_MPI_LIBRARIES)
  attn_folder(attn_mpi_${name} src/mpi PUBLIC_HEADERS include NEEDS attn attn_mpi_library_${name})
  target_compile_definitions(attn_mpi_${name} PUBLIC OMPI_SKIP_MPICXX MPICH_SKIP_MPICXX)
  # Users of attn/mpi.h include mpi.h.
  target_link_libraries(attn_mpi_${name} PUBLIC attn attn_mpi_library_${name})
endforeach()
if(ATTNSCOPE_MPI_LIBRARIES)
  list(GET ATTNSCOPE_MPI_LIBRARIES 0 ATTNSCOPE_MPI_FIRST)
  add_library(attnscope::mpi ALIAS attn_mpi_${ATTNSCOPE_MPI_FIRST})
  set(ATTNSCOPE_MPI_PACKAGE ${mpi_${ATTNSCOPE_MPI_FIRST}_package})
endif()
file(WRITE ${PROJECT_BINARY_DIR}/mpi-packages "${mpi_packages}")  # the Makefile checks whether they have changed
message(STATUS "MPI libraries: ${ATTNSCOPE_MPI_LIBRARIES}")
