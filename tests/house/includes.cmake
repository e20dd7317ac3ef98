# Public headers include the standard library and each other, nothing else; Highway stays inside the kernels; nobody
# climbs out of a folder with "../".

function(includes_of file out)
  file(STRINGS ${file} lines REGEX "^[ \t]*#[ \t]*include")
  set(${out} "${lines}" PARENT_SCOPE)
endfunction()

set(broken "")

file(GLOB public_headers ${SOURCE_DIR}/include/attn/*.h)
foreach(file IN LISTS public_headers)
  includes_of(${file} lines)
  foreach(line IN LISTS lines)
    if(NOT line MATCHES "include (<[a-z_]+>|\"attn/[a-z_]+\\.h\")")
      string(APPEND broken "${file}: ${line}: a public header\n")
    endif()
  endforeach()
endforeach()

file(GLOB_RECURSE sources ${SOURCE_DIR}/src/*.h ${SOURCE_DIR}/src/*.cc ${SOURCE_DIR}/apps/*.h ${SOURCE_DIR}/apps/*.cc)
foreach(file IN LISTS sources)
  includes_of(${file} lines)
  foreach(line IN LISTS lines)
    if(line MATCHES "\\.\\./")
      string(APPEND broken "${file}: ${line}: climbs out of its folder\n")
    elseif(line MATCHES "[<\"]hwy/" AND NOT file MATCHES "/src/attn/kernels/")
      string(APPEND broken "${file}: ${line}: only kernels know Highway\n")
    endif()
  endforeach()
endforeach()

list(LENGTH public_headers count)
if(count EQUAL 0)
  message(FATAL_ERROR "no public header found under ${SOURCE_DIR}/include/attn")
endif()
if(broken)
  message(FATAL_ERROR "${broken}")
endif()
