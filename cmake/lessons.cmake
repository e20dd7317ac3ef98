# attn_course: code that all lessons share (src/course), the computation of each lesson (lessons/NAME/compute.cc), and
# the files of lessons/, embedded in the program. lessons/order.txt lists them in course order.

attn_folder(attn_course src/course SUBFOLDERS compute NEEDS attn attn_base attn_nn attn_text attn_model attn_insight
            attn_figure attn_builtin nlohmann_json::nlohmann_json fmt::fmt)
# Mostly text and JSON: -O1 halves the compile time. Timed code keeps full optimization.
target_compile_options(attn_course PRIVATE $<$<CONFIG:Release>:-O1>)
set_source_files_properties(src/course/compute/timing.cc TARGET_DIRECTORY attn_course PROPERTIES COMPILE_OPTIONS
                            $<$<CONFIG:Release>:-O3>)

# registry.cc: the function of each lesson, named "why_scale" for why-scale.
set(order ${PROJECT_SOURCE_DIR}/lessons/order.txt)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${order})
file(STRINGS ${order} names)
set(declarations "")
set(entries "")
foreach(name IN LISTS names)
  string(MAKE_C_IDENTIFIER "${name}" id)
  target_sources(attn_course PRIVATE ${PROJECT_SOURCE_DIR}/lessons/${name}/compute.cc)
  string(APPEND declarations "LessonOutput ${id}(const LessonInput& input, const LessonWork& work);\n")
  string(APPEND entries "    {\"${name}\", ${id}},\n")
endforeach()
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/lessons/registry.cc @ONLY CONTENT "// Made by cmake/lessons.cmake. NOLINTBEGIN
#include \"course/registry.h\"

namespace attn::course {

${declarations}
std::span<const RegisteredLesson> registry() {
  static constexpr RegisteredLesson kLessons[] = {
${entries}  };
  return kLessons;
}

}  // namespace attn::course
// NOLINTEND
")
target_sources(attn_course PRIVATE ${PROJECT_BINARY_DIR}/lessons/registry.cc)

if(ATTNSCOPE_WASM)
  return()  # as in cmake/builtin.cmake
endif()

set(tables "")
set(folders "")
set(embedded "")
set(count 0)
set(embed_number 0)
set(embed_bytes "  .section ${embed_section}\n")
set(embed_declarations "")
file(GLOB present CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/lessons/*/lesson.json ${PROJECT_SOURCE_DIR}/lessons/*/*.md
     ${PROJECT_SOURCE_DIR}/lessons/*/steps.* ${PROJECT_SOURCE_DIR}/lessons/*/*.csv)
set(definitions ${present})
list(FILTER definitions INCLUDE REGEX "/lesson\\.json$")
foreach(definition IN LISTS definitions)
  cmake_path(GET definition PARENT_PATH folder)
  cmake_path(GET folder FILENAME name)
  set(table "")
  foreach(file IN LISTS present)
    cmake_path(GET file PARENT_PATH parent)
    if(NOT parent STREQUAL folder)
      continue()
    endif()
    cmake_path(GET file FILENAME short)
    embed_file(attnscope_lesson ${file} bytes)
    string(APPEND table "      BuiltInFile{\"${short}\", ${bytes}},\n")
    list(APPEND embedded ${file})
  endforeach()
  string(MAKE_C_IDENTIFIER "${name}" id)
  string(APPEND tables "  static const std::array files_of_${id} = {\n${table}  };\n")
  string(APPEND folders "      BuiltInFolder{\"${name}\", files_of_${id}},\n")
  math(EXPR count "${count} + 1")
endforeach()

set(generated ${PROJECT_BINARY_DIR}/lessons)
embed_write(${generated} builtin/lessons.h "std::span<const BuiltInFolder> lessons() {
${tables}  static const std::array<BuiltInFolder, ${count}> all = {
${folders}  };
  return all;
}
" FALSE)
target_sources(attn_course PRIVATE ${generated}/bytes.s ${generated}/table.cc)
set_source_files_properties(${generated}/bytes.s PROPERTIES OBJECT_DEPENDS "${embedded}")
