#!/usr/bin/env bash
# tools/wasm/runtime.sh FOLDER - builds the libraries that every program for WebAssembly links into FOLDER: libc.a,
# libzigc.a, libcompiler_rt.a, crt1-reactor.o, and libc++.a with exceptions. Takes half a minute; does nothing if they
# are up to date.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
mkdir -p "$1"
out=$(cd "$1" && pwd)
zig=$(echo "$PWD"/.venv/lib/python3*/site-packages/ziglang)/zig
lib=${zig%/zig}/lib
hash=$(cat "$here/runtime.sh" "$here/clang.sh" tools/requirements-wasm.txt | sha256sum)
[[ ! -f $out/stamp || $(<"$out/stamp") != "$hash" ]] || exit 0

work=$out/work
rm -rf "$work"
mkdir -p "$work"

# zig builds libc when it links a C program; its cache then holds the archives.
export ZIG_GLOBAL_CACHE_DIR=$work/zig ZIG_LOCAL_CACHE_DIR=$work/zig
echo 'int main(void) { return 0; }' >"$work/hello.c"
"$zig" cc -target wasm32-wasi -mcpu=generic+exception_handling+simd128 -O2 "$work/hello.c" -o "$work/hello.wasm"
for name in libc libzigc libcompiler_rt; do
  cp "$(find "$work/zig" -name "$name.a" | head -n 1)" "$out/"
done
"$here/clang.sh" -O2 -c "$lib/libc/wasi/libc-bottom-half/crt/crt1-reactor.c" -o "$out/crt1-reactor.o"

# The tag by which C++ throws, a destructor list that no thread ever runs, and a call that this system does not have.
printf '\t.globl\t__cpp_exception\n\t.tagtype\t__cpp_exception i32\n__cpp_exception:\n' >"$work/tag.s"
echo 'extern "C" int __cxa_thread_atexit(void (*)(void*), void*, void*) { return 0; }' >"$work/thread_atexit.cc"
cat >"$work/no_copy_file_range.h" <<'HEADER'
#include <errno.h>
#include <unistd.h>
static inline ssize_t copy_file_range(int, off_t*, int, off_t*, size_t, unsigned) { errno = EINVAL; return -1; }
HEADER

flags=(-O2 -fno-strict-aliasing -Wno-everything -ffunction-sections -fdata-sections)
of_libcxx=(-std=c++23 -D_LIBCPP_BUILDING_LIBRARY -DLIBCXX_BUILDING_LIBCXXABI -I "$lib/libcxx/src"
  -I "$lib/libcxx/libc" -I "$lib/libcxx/src/include")
abi=(abort_message cxa_aux_runtime cxa_default_handlers cxa_demangle cxa_exception cxa_exception_storage cxa_guard
  cxa_handlers cxa_personality cxa_vector cxa_virtual fallback_malloc private_typeinfo stdlib_exception
  stdlib_new_delete stdlib_stdexcept stdlib_typeinfo)
commands() {
  local file extra
  while read -r file; do
    extra=""
    if [[ $file == filesystem/operations.cpp ]]; then extra="-include $work/no_copy_file_range.h"; fi
    echo "${of_libcxx[*]} $extra -c $lib/libcxx/src/$file -o $work/cxx_${file//\//_}.o"
  done < <(cd "$lib/libcxx/src" && printf '%s\n' *.cpp filesystem/*.cpp ryu/*.cpp | grep -v '^filesystem/time_utils')
  for file in "${abi[@]}"; do
    echo "${of_libcxx[*]} -D_LIBCXXABI_BUILDING_LIBRARY -D_LIBCXXABI_HAS_NO_THREADS -I $lib/libcxxabi/src" \
      "-isystem $lib/libunwind/include -c $lib/libcxxabi/src/$file.cpp -o $work/abi_$file.o"
  done
  echo "-std=gnu11 -DNDEBUG -D_LIBUNWIND_HIDE_SYMBOLS -D_LIBUNWIND_IS_NATIVE_ONLY -D_LIBUNWIND_HAS_NO_THREADS" \
    "-I $lib/libunwind/include -c $lib/libunwind/src/Unwind-wasm.c -o $work/unwind.o"
  echo "-c $work/tag.s -o $work/tag.o"
  echo "-c $work/thread_atexit.cc -o $work/thread_atexit.o"
}
commands | xargs -P "$(nproc)" -L 1 "$here/clang.sh" "${flags[@]}"
rm -f "$out/libc++.a"
"$zig" ar rcs "$out/libc++.a" "$work"/*.o
rm -rf "$work"
echo "$hash" >"$out/stamp"
