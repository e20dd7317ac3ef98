# One target per floor of the house (docs/architecture.md), and the flags that all of them share.

include(GNUInstallDirs)

find_program(ATTNSCOPE_CCACHE ccache)
mark_as_advanced(ATTNSCOPE_CCACHE)
if(ATTNSCOPE_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${ATTNSCOPE_CCACHE})
endif()

# Compile flags of every target of ours.
add_library(attn_flags INTERFACE)
target_compile_options(attn_flags INTERFACE -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(attn_flags INTERFACE -Wno-restrict)  # false positives for "text" + std::string, GCC bug 105651
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # libstdc++ 12 uses a deprecated function of its own in std::stable_sort.
  target_compile_options(attn_flags INTERFACE -Wno-deprecated-declarations)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # The baseline instruction set. Without it g++ would make Highway's scalar emulation the baseline. Of the features
  # that Highway's SSE4 target needs, x86-64-v2 lacks only AES and PCLMUL, and we use neither.
  target_compile_options(attn_flags INTERFACE -march=x86-64-v2)
  target_compile_definitions(attn_flags INTERFACE HWY_DISABLE_PCLMUL_AES)
endif()
if(ATTNSCOPE_WASM)
  # Sizes are std::int64_t everywhere, and containers count in 32 bits there. What is allocated by a size from outside is
  # checked: AlignedMemory, KvCache.
  target_compile_options(attn_flags INTERFACE -Wno-shorten-64-to-32)
endif()
if(ATTNSCOPE_SANITIZE)
  target_compile_options(attn_flags INTERFACE -fsanitize=${ATTNSCOPE_SANITIZE} -fno-omit-frame-pointer
                                              -fno-sanitize-recover=all)
  target_link_options(attn_flags INTERFACE -fsanitize=${ATTNSCOPE_SANITIZE})
endif()

# attn_folder(name folder [SUBFOLDERS names...] [NATIVE_ONLY files...] [PUBLIC_HEADERS dir] NEEDS targets...)
# Adds one static library per floor. Includes are relative to src/ ("nn/infer/rope.h"), or to include/ for public
# headers ("attn/mask.h"). NEEDS are the arrows: tests/house fails for an include that does not follow one. A floor with
# PUBLIC_HEADERS exposes only those to users of the installed package. For WebAssembly the NATIVE_ONLY files (relative to
# the folder; * matches) are left out, and the files named *_wasm.cc, which nothing else compiles, take the place of
# those that are needed.
function(attn_folder name folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "PUBLIC_HEADERS" "SUBFOLDERS;NATIVE_ONLY;NEEDS")
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/*.cc)
  foreach(subfolder IN LISTS arg_SUBFOLDERS)
    file(GLOB more CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${folder}/${subfolder}/*.cc)
    if(NOT more)
      message(FATAL_ERROR "${folder}/${subfolder} has no source files")
    endif()
    list(APPEND sources ${more})
  endforeach()
  if(ATTNSCOPE_WASM)
    list(TRANSFORM arg_NATIVE_ONLY PREPEND ${PROJECT_SOURCE_DIR}/${folder}/)
    file(GLOB left_out ${arg_NATIVE_ONLY})
    list(REMOVE_ITEM sources ${left_out})
  else()
    list(FILTER sources EXCLUDE REGEX "_wasm\\.cc$")
  endif()
  add_library(${name} STATIC ${sources})
  set_target_properties(${name} PROPERTIES OUTPUT_NAME attnscope_${name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  if(arg_PUBLIC_HEADERS)
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src
                               PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/${arg_PUBLIC_HEADERS}>
                                      $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  else()
    target_include_directories(${name} PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/src>)
  endif()
  target_link_libraries(${name} PRIVATE $<BUILD_INTERFACE:attn_flags> ${arg_NEEDS})
  set_property(GLOBAL PROPERTY attn_folder_of_${name} ${folder})
  set_property(GLOBAL APPEND PROPERTY attn_floors ${folder})
  set_property(GLOBAL PROPERTY attn_needs_of_${folder} ${arg_NEEDS})
endfunction()

# attn_link_file(target file maker): users of the interface library `target` link `file`, which the target `maker`
# builds. Their sources compile in parallel: with target_link_libraries(... maker) they would wait for the commands of
# `maker`, such as cargo's two minutes. Generators other than Ninja depend on targets, not files, and have to wait.
function(attn_link_file target file maker)
  target_link_libraries(${target} INTERFACE ${file})
  if(NOT CMAKE_GENERATOR MATCHES Ninja)
    add_dependencies(${target} ${maker})
  endif()
endfunction()
