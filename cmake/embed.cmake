# Embeds files in the program. An assembler file includes their bytes (.incbin) as read-only data, so that pages are
# read only when used and nothing is copied; a C++ file names them. Usable from CMakeLists.txt and from scripts: include
# this file, call embed_file() for each file, then embed_write().

if(APPLE)
  set(embed_symbol _)
  set(embed_section "__TEXT,__const")
  set(embed_hidden .private_extern)
else()
  set(embed_symbol "")
  set(embed_section ".rodata, \"a\", %progbits")
  set(embed_hidden .hidden)
endif()

# Sets `out` to a C++ expression for the file's bytes: a std::string_view. Label names begin with `prefix`.
macro(embed_file prefix path out)
  if(NOT DEFINED embed_number)
    set(embed_number 0)
    set(embed_bytes "  .section ${embed_section}\n")
    set(embed_declarations "")
  endif()
  set(embed_start ${prefix}_${embed_number})
  math(EXPR embed_number "${embed_number} + 1")
  string(APPEND embed_bytes "  ${embed_hidden} ${embed_symbol}${embed_start}, ${embed_symbol}${embed_start}_end\n"
                            "  .globl ${embed_symbol}${embed_start}, ${embed_symbol}${embed_start}_end\n  .balign 64\n"
                            "${embed_symbol}${embed_start}:\n  .incbin \"${path}\"\n${embed_symbol}${embed_start}_end:\n")
  string(APPEND embed_declarations
         "[[gnu::visibility(\"hidden\")]] extern const char ${embed_start}[], ${embed_start}_end[];\n")
  set(${out} "bytes(${embed_start}, ${embed_start}_end)")
endmacro()

# Writes folder/bytes.s and folder/table.cc: `body` in namespace attn::builtin, after `header`. The list of files may be
# empty. Unchanged files keep their time stamp, unless `always` is true.
function(embed_write folder header body always)
  if(NOT APPLE)
    string(APPEND embed_bytes "  .section .note.GNU-stack, \"\", %progbits\n")  # else the stack would be executable
  endif()
  set(table "// Made by cmake/embed.cmake. NOLINTBEGIN
#include <array>

#include \"${header}\"

extern \"C\" {
${embed_declarations}}

namespace attn::builtin {

using base::BuiltInFile;
using base::BuiltInFolder;

[[maybe_unused]] static std::string_view bytes(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

${body}
}  // namespace attn::builtin
// NOLINTEND
")
  foreach(name IN ITEMS bytes.s table.cc)
    set(content "${embed_bytes}")
    if(name STREQUAL table.cc)
      set(content "${table}")
    endif()
    if(always)
      file(WRITE ${folder}/${name} "${content}")
    else()
      file(CONFIGURE OUTPUT ${folder}/${name} CONTENT "${content}" @ONLY)
    endif()
  endforeach()
endfunction()
