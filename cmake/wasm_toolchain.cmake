# The compiler and linker for WebAssembly: clang and wasm-ld of the ziglang package in .venv (tools/setup.sh web-app), with
# the C++ library that tools/wasm/runtime.sh builds into build-wasm/runtime.

set(CMAKE_SYSTEM_NAME Generic)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(ATTNSCOPE_WASM ON)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)

get_filename_component(root ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
set(CMAKE_CXX_COMPILER ${root}/tools/wasm/clang.sh)
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)
# ccache would not see what is behind the script.
set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_COMPILERTYPE=clang ccache)

file(GLOB zig ${root}/.venv/lib/python3*/site-packages/ziglang/zig)
set(runtime ${root}/build-wasm/runtime)
set(CMAKE_CXX_ARCHIVE_CREATE "${zig} ar qc <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_APPEND "${zig} ar q <TARGET> <OBJECTS>")
set(CMAKE_CXX_ARCHIVE_FINISH "${zig} ar s <TARGET>")
set(CMAKE_CXX_LINK_EXECUTABLE
    "${zig} wasm-ld ${runtime}/crt1-reactor.o --entry=_initialize <LINK_FLAGS> <OBJECTS> <LINK_LIBRARIES> ${runtime}/libc++.a ${runtime}/libc.a ${runtime}/libzigc.a ${runtime}/libcompiler_rt.a -o <TARGET>")

# Size first: the module is downloaded before anything is shown. What computes is compiled for speed: CMakeLists.txt.
# To CMAKE_CXX_FLAGS_RELEASE_INIT, CMake would append its own -O3.
set(CMAKE_CXX_FLAGS_RELEASE "-Os -DNDEBUG -ffunction-sections -fdata-sections" CACHE STRING "" FORCE)
