# attn_builtin: the models of ATTNSCOPE_MODELS_FOLDER, embedded in the program.

set(ATTNSCOPE_MODELS_FOLDER ${PROJECT_SOURCE_DIR}/models CACHE PATH
    "Folder whose folders are the models that are built in; one without any is fine")

attn_folder(attn_builtin src/builtin NATIVE_ONLY models.cc NEEDS attn attn_base attn_text attn_model)
if(ATTNSCOPE_WASM)
  return()  # the host has the files: src/builtin/folders_wasm.cc
endif()

enable_language(ASM)
if(CMAKE_ASM_COMPILER_ID MATCHES Clang)
  string(APPEND CMAKE_ASM_FLAGS " -Wno-unused-command-line-argument")  # of the flags that are for C++
endif()
include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)

set(tables "")
set(folders "")
set(embedded "")
file(GLOB present CONFIGURE_DEPENDS ${ATTNSCOPE_MODELS_FOLDER}/*/*.json ${ATTNSCOPE_MODELS_FOLDER}/*/*.safetensors)
set(configs ${present})
list(FILTER configs INCLUDE REGEX "/config\\.json$")
foreach(config IN LISTS configs)
  cmake_path(GET config PARENT_PATH model)
  cmake_path(GET model FILENAME name)
  set(table "")
  # The files needed to run a model; not its model card or training log.
  foreach(file IN ITEMS config.json generation_config.json tokenizer.json tokenizer_config.json special_tokens_map.json
                        model.safetensors)
    if(NOT ${model}/${file} IN_LIST present)
      continue()
    endif()
    embed_file(attnscope_builtin ${model}/${file} bytes)
    string(APPEND table "      BuiltInFile{\"${file}\", ${bytes}},\n")
    list(APPEND embedded ${model}/${file})
  endforeach()
  string(MAKE_C_IDENTIFIER "${name}" id)
  string(APPEND tables "  static const std::array files_of_${id} = {\n${table}  };\n")
  string(APPEND folders "      BuiltInFolder{\"${name}\", files_of_${id}},\n")
endforeach()
list(LENGTH configs count)

set(generated ${PROJECT_BINARY_DIR}/builtin)
embed_write(${generated} builtin/models.h "std::span<const BuiltInFolder> models() {
${tables}  static const std::array<BuiltInFolder, ${count}> all = {
${folders}  };
  return all;
}
" FALSE)
target_sources(attn_builtin PRIVATE ${generated}/bytes.s ${generated}/table.cc)
set_source_files_properties(${generated}/bytes.s PROPERTIES OBJECT_DEPENDS "${embedded}")
