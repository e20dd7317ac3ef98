# One target a folder. A folder's sources find its own headers and those of the folders that it NEEDS, nothing else: an
# include against the arrow does not compile (tests/house proves it). Headers of folder F are written "<AS>/name.h".

include(GNUInstallDirs)

find_program(ATTNSCOPE_CCACHE ccache)
mark_as_advanced(ATTNSCOPE_CCACHE)
if(ATTNSCOPE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ATTNSCOPE_CCACHE})
endif()

# What every target of ours is compiled with.
add_library(attn_flags INTERFACE)
target_compile_options(attn_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(attn_flags INTERFACE -Wno-restrict)  # false alarms for "text" + std::string, GCC bug 105651
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # The floor. Without it g++ would make Highway's scalar emulation the baseline. x86-64-v2 lacks only AES and PCLMUL of
  # what Highway's SSE4 asks for, and we use neither.
  target_compile_options(attn_flags INTERFACE -march=x86-64-v2)
  target_compile_definitions(attn_flags INTERFACE HWY_DISABLE_PCLMUL_AES)
endif()
if(ATTNSCOPE_SANITIZE)
  target_compile_options(attn_flags INTERFACE -fsanitize=${ATTNSCOPE_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(attn_flags INTERFACE -fsanitize=${ATTNSCOPE_SANITIZE})
endif()

# attn_folder(name folder AS prefix [PUBLIC_HEADERS dir] NEEDS targets...)
# A folder with PUBLIC_HEADERS shows those to the folders above it and keeps its own headers to itself; any other folder
# shows its own. Where a test looks inside on purpose, it asks for attn_inside(target folder...).
function(attn_folder name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "AS;PUBLIC_HEADERS" "NEEDS")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME attnscope_${name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  set(root ${PROJECT_BINARY_DIR}/roots/${name})
  file(MAKE_DIRECTORY ${root})
  file(CREATE_LINK ${PROJECT_SOURCE_DIR}/${folder} ${root}/${arg_AS} SYMBOLIC)
  if(arg_PUBLIC_HEADERS)
    target_include_directories(${name} PRIVATE ${root}
                               PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${arg_PUBLIC_HEADERS}>
                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  else()
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${root}>)
  endif()
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:attn_flags> ${arg_NEEDS})
endfunction()

# attn_link_file(target file maker): users of the interface library `target` link `file`, which the target `maker` makes.
# Their sources compile meanwhile: with target_link_libraries(... maker) they would wait for commands that `maker` runs,
# such as cargo's two minutes. Generators other than Ninja know targets, not files, and have to wait.
function(attn_link_file target file maker)
  target_link_libraries(${target} INTERFACE ${file})
  if(NOT CMAKE_GENERATOR MATCHES Ninja)
    add_dependencies(${target} ${maker})
  endif()
endfunction()

function(attn_inside target)
  foreach(folder IN LISTS ARGN)
    target_include_directories(${target} PRIVATE ${PROJECT_BINARY_DIR}/roots/${folder})
  endforeach()
endfunction()
