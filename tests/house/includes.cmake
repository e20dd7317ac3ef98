# Checks every include of the house SOURCE_DIR:
#   - public headers include the standard library and each other, nothing else;
#   - a path in quotes is a file below src/, include/ or the project's folder, without "../";
#   - a floor of src/ includes only floors that an arrow of ARROWS leads to;
#   - Highway stays inside the kernels.
# And that JSON is parsed by base::parse_json(), which has limits, except for a lesson's own file and a stream of tensors.
cmake_minimum_required(VERSION 3.25)
include(${ARROWS})
list(SORT floors ORDER DESCENDING)  # src/engine/kernels before src/engine

# The floor that a file below SOURCE_DIR belongs to; empty if none.
function(floor_of path out)
  set(${out} "" PARENT_SCOPE)
  if(path MATCHES "^lessons/[^/]+/compute")
    set(${out} src/course PARENT_SCOPE)
    return()
  endif()
  foreach(floor IN LISTS floors)
    string(FIND "${path}" "${floor}/" begin)
    if(begin EQUAL 0)
      set(${out} ${floor} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

set(broken "")
file(GLOB_RECURSE sources RELATIVE ${SOURCE_DIR} ${SOURCE_DIR}/include/*.h ${SOURCE_DIR}/src/*.h ${SOURCE_DIR}/src/*.cc
     ${SOURCE_DIR}/apps/*.h ${SOURCE_DIR}/apps/*.cc ${SOURCE_DIR}/lessons/*/compute.cc)
list(FILTER sources EXCLUDE REGEX "/crate/")
foreach(file IN LISTS sources)
  floor_of(${file} floor)
  file(STRINGS ${SOURCE_DIR}/${file} parses REGEX "(json|Json)::(sax_)?parse\\(")
  if(parses AND NOT file MATCHES "^src/(base/json_file|course/json|model/files/safetensors_header)[.]cc$")
    string(APPEND broken "${file}: ${parses}: only base::parse_json() parses JSON\n")
  endif()
  file(STRINGS ${SOURCE_DIR}/${file} lines REGEX "^[ \t]*#[ \t]*include")
  foreach(line IN LISTS lines)
    if(file MATCHES "^include/" AND NOT line MATCHES "include (<[a-z_]+>|\"attn/[a-z_]+\\.h\"|<mpi.h>)")
      string(APPEND broken "${file}: ${line}: a public header\n")
    elseif(line MATCHES "\\.\\./")
      string(APPEND broken "${file}: ../: climbs out of its folder\n")
    elseif(line MATCHES "[<\"]hwy/" AND NOT file MATCHES "^src/engine/kernels/")
      string(APPEND broken "${file}: ${line}: only kernels know Highway\n")
    elseif(line MATCHES "include \"(attn_tokenizers\\.h|hwy/[a-z_-]+\\.h)\"")  # from third-party libraries
    elseif(line MATCHES "include \"(.*)\"")
      set(path ${CMAKE_MATCH_1})
      if(EXISTS ${SOURCE_DIR}/src/${path})
        floor_of(src/${path} there)
        set(seen ${seen_from_${floor}})
        if(floor AND NOT there IN_LIST seen)
          string(APPEND broken "${file}: ${path}: no arrow leads from ${floor} to ${there}\n")
        endif()
      elseif(NOT EXISTS ${SOURCE_DIR}/include/${path} AND NOT EXISTS ${SOURCE_DIR}/${path})
        string(APPEND broken "${file}: ${path}: no such file\n")
      endif()
    endif()
  endforeach()
endforeach()

if(NOT sources)
  message(FATAL_ERROR "no source found under ${SOURCE_DIR}")
endif()
if(broken)
  message(FATAL_ERROR "${broken}")
endif()
