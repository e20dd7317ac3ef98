# The libraries that the floors use, for WebAssembly: the headers of Highway, fmt and nlohmann-json, which need no
# compiled part, from the system's packages. What the other libraries do, the Rust crate or the browser does, in the files
# named *_wasm.cc: their targets are empty.

# A folder with just these headers: the others in /usr/include belong to another C library.
set(headers ${PROJECT_BINARY_DIR}/include)
file(MAKE_DIRECTORY ${headers})
foreach(header IN ITEMS hwy/highway.h fmt/format.h nlohmann/json.hpp)
  cmake_path(GET header PARENT_PATH name)
  find_path(ATTNSCOPE_${name}_HEADERS ${header} PATHS /usr/include /usr/local/include REQUIRED)
  file(CREATE_LINK ${ATTNSCOPE_${name}_HEADERS}/${name} ${headers}/${name} SYMBOLIC)
endforeach()

function(wasm_package target)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} SYSTEM INTERFACE ${headers})
endfunction()

wasm_package(hwy::hwy)
target_compile_definitions(hwy::hwy INTERFACE HWY_COMPILE_ONLY_STATIC)  # one instruction set: nothing to dispatch
wasm_package(fmt::fmt)
target_compile_definitions(fmt::fmt INTERFACE FMT_HEADER_ONLY)
wasm_package(nlohmann_json::nlohmann_json)
foreach(target IN ITEMS Threads::Threads CURL::libcurl OpenSSL::Crypto PkgConfig::cairo PkgConfig::spng
                        PkgConfig::httplib ZLIB::ZLIB)
  add_library(${target} INTERFACE IMPORTED)
  target_include_directories(${target} INTERFACE ${PROJECT_SOURCE_DIR}/apps/wasm/crate/include)
endforeach()
