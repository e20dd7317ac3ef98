# attn_builtin: the models of ATTNSCOPE_MODELS_FOLDER as part of the program. An assembler file takes their bytes as they
# are (.incbin) into read-only data, so that the system reads pages of a model when it is used, and nothing is copied.

set(ATTNSCOPE_MODELS_FOLDER ${PROJECT_SOURCE_DIR}/models CACHE PATH
    "Folder whose folders are the models that are built in; one without any is fine")

enable_language(ASM)
attn_folder(attn_builtin src/builtin AS builtin NEEDS attn attn_text)

if(APPLE)
  set(symbol _)
  set(section "__TEXT,__const")
  set(hidden .private_extern)
else()
  set(section ".rodata, \"a\", %progbits")
  set(hidden .hidden)
endif()

set(bytes "  .section ${section}\n")
set(declarations "")
set(tables "")
set(folders "")
set(embedded "")
set(number 0)
file(GLOB present CONFIGURE_DEPENDS ${ATTNSCOPE_MODELS_FOLDER}/*/*.json ${ATTNSCOPE_MODELS_FOLDER}/*/*.safetensors)
set(configs ${present})
list(FILTER configs INCLUDE REGEX "/config\\.json$")
foreach(config IN LISTS configs)
  cmake_path(GET config PARENT_PATH model)
  cmake_path(GET model FILENAME name)
  set(table "")
  # What is needed to run one; not its card, nor how it was trained.
  foreach(file IN ITEMS config.json generation_config.json tokenizer.json tokenizer_config.json special_tokens_map.json
                        model.safetensors)
    if(NOT ${model}/${file} IN_LIST present)
      continue()
    endif()
    set(start attnscope_builtin_${number})
    math(EXPR number "${number} + 1")
    string(APPEND bytes "  ${hidden} ${symbol}${start}, ${symbol}${start}_end\n"
                        "  .globl ${symbol}${start}, ${symbol}${start}_end\n  .balign 64\n"
                        "${symbol}${start}:\n  .incbin \"${model}/${file}\"\n${symbol}${start}_end:\n")
    string(APPEND declarations "[[gnu::visibility(\"hidden\")]] extern const char ${start}[], ${start}_end[];\n")
    string(APPEND table "      BuiltInFile{\"${file}\", bytes(${start}, ${start}_end)},\n")
    list(APPEND embedded ${model}/${file})
  endforeach()
  string(MAKE_C_IDENTIFIER "${name}" id)
  string(APPEND tables "  static const std::array files_of_${id} = {\n${table}  };\n")
  string(APPEND folders "      BuiltInFolder{\"${name}\", files_of_${id}},\n")
endforeach()
if(NOT APPLE)
  string(APPEND bytes "  .section .note.GNU-stack, \"\", %progbits\n")  # else the whole program's stack could be run
endif()
list(LENGTH configs count)

set(generated ${PROJECT_BINARY_DIR}/builtin)
file(CONFIGURE OUTPUT ${generated}/bytes.s CONTENT "${bytes}" @ONLY)
file(CONFIGURE OUTPUT ${generated}/table.cc CONTENT "// Made by cmake/builtin.cmake.
#include <array>

#include \"builtin/models.h\"

extern \"C\" {
${declarations}}

namespace attn::builtin {

using text::BuiltInFile;
using text::BuiltInFolder;

[[maybe_unused]] static std::string_view bytes(const char* begin, const char* end) {
  return {begin, static_cast<std::size_t>(end - begin)};
}

std::span<const BuiltInFolder> models() {
${tables}  static const std::array<BuiltInFolder, ${count}> all = {
${folders}  };
  return all;
}

}  // namespace attn::builtin
" @ONLY)
target_sources(attn_builtin PRIVATE ${generated}/bytes.s ${generated}/table.cc)
set_source_files_properties(${generated}/bytes.s PROPERTIES OBJECT_DEPENDS "${embedded}")
