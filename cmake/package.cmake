# cmake --install: headers, libraries and the package for find_package(attnscope) (component dev), and the program
# (component program). Users link attnscope::attn; attnscope::attn_kernels is installed because attn is a static
# library.

include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/attnscope)

install(TARGETS attn attn_kernels EXPORT attnscopeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
install(DIRECTORY include/attn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT dev
        FILES_MATCHING PATTERN "*.h" PATTERN mpi.h EXCLUDE)
install(EXPORT attnscopeTargets NAMESPACE attnscope:: DESTINATION ${package_dir} COMPONENT dev)

# The MPI library that attnscope::mpi uses if several are installed.
if(ATTNSCOPE_MPI_FIRST)
  set_target_properties(attn_mpi_${ATTNSCOPE_MPI_FIRST} PROPERTIES EXPORT_NAME mpi)
  install(TARGETS attn_mpi_${ATTNSCOPE_MPI_FIRST} EXPORT attnscopeMpiTargets
          ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT dev)
  install(FILES include/attn/mpi.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/attn COMPONENT dev)
  install(EXPORT attnscopeMpiTargets NAMESPACE attnscope:: DESTINATION ${package_dir} COMPONENT dev)
endif()

configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/attnscopeConfig.cmake.in
                              ${PROJECT_BINARY_DIR}/attnscopeConfig.cmake INSTALL_DESTINATION ${package_dir})
# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/attnscopeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/attnscopeConfig.cmake ${PROJECT_BINARY_DIR}/attnscopeConfigVersion.cmake
        DESTINATION ${package_dir} COMPONENT dev)

if(TARGET attnscope)
  install(TARGETS attnscope RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()
