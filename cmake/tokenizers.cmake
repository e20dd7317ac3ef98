# attn_tokenizers: Hugging Face's tokenizers crate behind a C ABI (src/text/tokenizer/crate), built by cargo.
#
# Building takes a minute or two and gives the same result for every build directory, so all of them share one folder.
# If that folder is removed, the next build recreates it. cargo needs the network only the first time.

set(crate ${PROJECT_SOURCE_DIR}/src/text/tokenizer/crate)
if(ATTNSCOPE_WASM)
  # Part of the crate of apps/wasm, which tools/wasm/crate.sh builds before CMake runs.
  add_library(attn_tokenizers INTERFACE)
  target_include_directories(attn_tokenizers INTERFACE ${crate}/include)
  target_link_libraries(attn_tokenizers INTERFACE
                        ${PROJECT_SOURCE_DIR}/build-wasm/cargo/wasm32-wasip1/release/libattn_wasm.a)
  return()
endif()
if(PROJECT_IS_TOP_LEVEL)
  set(shared_place ${PROJECT_SOURCE_DIR}/build/cargo)
else()
  set(shared_place ${PROJECT_BINARY_DIR}/cargo)
endif()
set(ATTNSCOPE_CARGO_TARGET ${shared_place} CACHE PATH "Where cargo puts what it builds")

# tools/setup.sh also runs tools/cargo.sh, so that both use the same cargo.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/cargo.sh OUTPUT_VARIABLE found_cargo ERROR_VARIABLE cargo_problem
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
set(ATTNSCOPE_CARGO "${found_cargo}" CACHE FILEPATH "The cargo to build the tokenizers with")
if(NOT ATTNSCOPE_CARGO)
  unset(ATTNSCOPE_CARGO CACHE)
  message(FATAL_ERROR "${cargo_problem}")
endif()

set(crate_library ${ATTNSCOPE_CARGO_TARGET}/release/libattn_tokenizers.a)
file(GLOB crate_sources CONFIGURE_DEPENDS ${crate}/src/*.rs)
# The library is a by-product, because its time stamp need not change: another build directory may have built it, and
# binaries linked with it there should stay up to date.
set(crate_stamp ${PROJECT_BINARY_DIR}/attn_tokenizers.stamp)
add_custom_command(
  OUTPUT ${crate_stamp}
  BYPRODUCTS ${crate_library}
  COMMAND ${PROJECT_SOURCE_DIR}/tools/crate.sh ${ATTNSCOPE_CARGO} ${ATTNSCOPE_CARGO_TARGET}
  COMMAND ${CMAKE_COMMAND} -E touch ${crate_stamp}
  DEPENDS ${crate}/Cargo.toml ${crate}/Cargo.lock ${crate_sources}
  COMMENT "Building the tokenizers crate (once, a minute or two)"
  VERBATIM)
add_custom_target(attn_tokenizers_crate DEPENDS ${crate_stamp})

add_library(attn_tokenizers INTERFACE)
attn_link_file(attn_tokenizers ${crate_library} attn_tokenizers_crate)
target_include_directories(attn_tokenizers INTERFACE ${crate}/include)
# A link item, because options of a private dependency of a static library are not passed on. It keeps Rust's symbols
# out of the exports of the program and the Python module.
target_link_libraries(attn_tokenizers INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
if(NOT APPLE AND NOT ATTNSCOPE_SANITIZE)  # with sanitizers it would hide their malloc and free from other libraries
  target_link_libraries(attn_tokenizers INTERFACE -Wl,--exclude-libs,ALL)
endif()
