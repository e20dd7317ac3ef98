# attn_tokenizers: Hugging Face's tokenizers crate behind a C ABI (src/text/tokenizer/crate), built by cargo.
#
# It takes a minute or two and is the same for every build directory, so that all of them share one place. Where that
# place is removed, the next build makes it anew. cargo asks the network the first time only.

set(crate ${PROJECT_SOURCE_DIR}/src/text/tokenizer/crate)
if(PROJECT_IS_TOP_LEVEL)
  set(shared_place ${PROJECT_SOURCE_DIR}/build/cargo)
else()
  set(shared_place ${PROJECT_BINARY_DIR}/cargo)
endif()
set(ATTNSCOPE_CARGO_TARGET ${shared_place} CACHE PATH "Where cargo puts what it builds")

# tools/cargo.sh is also what tools/setup.sh asks, so that both mean the same cargo.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/cargo.sh OUTPUT_VARIABLE found_cargo ERROR_VARIABLE cargo_problem
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
set(ATTNSCOPE_CARGO "${found_cargo}" CACHE FILEPATH "The cargo to build the tokenizers with")
if(NOT ATTNSCOPE_CARGO)
  unset(ATTNSCOPE_CARGO CACHE)
  message(FATAL_ERROR "${cargo_problem}")
endif()

set(crate_library ${ATTNSCOPE_CARGO_TARGET}/release/libattn_tokenizers.a)
file(GLOB crate_sources CONFIGURE_DEPENDS ${crate}/src/*.rs)
# The library is a by-product, because its time need not change: another build directory may have made it, and what is
# linked with it there should stay as it is.
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
# As a link item, because options of a private dependency of a static library are not passed on. It keeps Rust's symbols
# out of what the program and the Python module export.
target_link_libraries(attn_tokenizers INTERFACE Threads::Threads ${CMAKE_DL_LIBS} m)
if(NOT APPLE AND NOT ATTNSCOPE_SANITIZE)  # with sanitizers it would hide their malloc and free from other libraries
  target_link_libraries(attn_tokenizers INTERFACE -Wl,--exclude-libs,ALL)
endif()
