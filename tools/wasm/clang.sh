#!/usr/bin/env bash
# tools/wasm/clang.sh ARGUMENTS... - clang for wasm32 with exceptions and SIMD, from the ziglang package in .venv.
#
# Used as the compiler by cmake/wasm_toolchain.cmake, and by tools/wasm/runtime.sh. C++ gets its own C++ library, which
# runtime.sh builds: zig's has no exceptions and no std::mutex on this platform.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
lib=$(echo "$here"/../../.venv/lib/python3*/site-packages/ziglang/lib)
c_headers=(-isystem "$lib/include" -isystem "$lib/libc/include/wasm-wasi-musl" -isystem "$lib/libc/include/generic-musl")
features=(-msimd128 -mexception-handling -mbulk-memory -mnontrapping-fptoint -msign-ext -mmutable-globals -mmultivalue
  -mreference-types)
# The form of exceptions that every browser since 2022 and node 20 know, not the one that became the standard.
exceptions=(-fwasm-exceptions -mllvm -wasm-use-legacy-eh=true)
# Signals, process clocks and mmap exist only as emulations that do nothing.
emulated=(-D_WASI_EMULATED_SIGNAL -D_WASI_EMULATED_MMAN -D_WASI_EMULATED_PROCESS_CLOCKS -D_GNU_SOURCE)
# What zig passes to its own build of libc++, but with threads by pthread, whose functions exist and can make no thread.
libcxx=(-D_LIBCPP_ABI_VERSION=1 -D_LIBCPP_ABI_NAMESPACE=__1 -D_LIBCPP_HAS_THREADS=1 -D_LIBCPP_HAS_MONOTONIC_CLOCK=1
  -D_LIBCPP_HAS_TERMINAL=0 -D_LIBCPP_HAS_MUSL_LIBC=1 -D_LIBCPP_DISABLE_VISIBILITY_ANNOTATIONS
  -D_LIBCXXABI_DISABLE_VISIBILITY_ANNOTATIONS -D_LIBCPP_HAS_VENDOR_AVAILABILITY_ANNOTATIONS=0
  -D_LIBCPP_HAS_FILESYSTEM=1 -D_LIBCPP_HAS_RANDOM_DEVICE=1 -D_LIBCPP_HAS_LOCALIZATION=1 -D_LIBCPP_HAS_UNICODE=1
  -D_LIBCPP_HAS_WIDE_CHARACTERS=1 -D_LIBCPP_HAS_TIME_ZONE_DATABASE=0 -D_LIBCPP_PSTL_BACKEND_SERIAL
  -D_LIBCPP_HARDENING_MODE=_LIBCPP_HARDENING_MODE_NONE -D_LIBCPP_HARDENING_MODE_DEFAULT=2
  -D_LIBCPP_ASSERTION_SEMANTIC_DEFAULT=2 -D_LIBCPP_HAS_THREAD_API_PTHREAD=1 -D_LIBCPP_HAS_THREAD_API_EXTERNAL=0
  -D_LIBCPP_HAS_THREAD_API_WIN32=0 -D_LIBCPP_HAS_THREAD_API_C11=0 -D_LIBCPP_LIBC_NEWLIB=0
  -D_LIBCPP_INSTRUMENTED_WITH_ASAN=0)
language=(-x c++ -nostdinc++ -isystem "$lib/libcxx/include" -isystem "$lib/libcxxabi/include" "${libcxx[@]}")
for argument in "$@"; do
  case "$argument" in
    *.c) language=(-x c) ;;
    *.s) language=() ;;
  esac
done
exec "$lib/../zig" clang --target=wasm32-wasip1 "${features[@]}" "${exceptions[@]}" -nostdinc "${language[@]}" \
  "${c_headers[@]}" "${emulated[@]}" "$@"
