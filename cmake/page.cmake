# attn_page: the page in ATTNSCOPE_PAGE_FOLDER, embedded in the program: index.html, its assets, and offline.html. File
# names are known only after the page is built, so the list is generated then.
#
# As a script (-P), with FOLDER and OUT: generates that list.

if(CMAKE_SCRIPT_MODE_FILE)
  include(${CMAKE_CURRENT_LIST_DIR}/embed.cmake)
  file(GLOB_RECURSE files RELATIVE ${FOLDER} ${FOLDER}/*)
  list(SORT files)
  set(list "")
  foreach(file IN LISTS files)
    embed_file(attnscope_page ${FOLDER}/${file} bytes)
    string(APPEND list "      BuiltInFile{\"${file}\", ${bytes}},\n")
  endforeach()
  list(LENGTH files count)
  # Always written: the bytes have changed, even if the names have not.
  embed_write(${OUT} builtin/page.h "std::span<const BuiltInFile> page() {
  static const std::array<BuiltInFile, ${count}> all = {
${list}  };
  return all;
}
" TRUE)
  return()
endif()

set(built_page ${PROJECT_BINARY_DIR}/web/dist)
set(ATTNSCOPE_PAGE_FOLDER ${built_page} CACHE PATH
    "Folder with the page that is built in: made here from web/, unless it is another one; one without any file is fine")
set(page_files "")
if(ATTNSCOPE_PAGE_FOLDER STREQUAL built_page)
  include(${CMAKE_CURRENT_LIST_DIR}/web.cmake)
  set(page_files ${ATTNSCOPE_PAGE_FOLDER}/index.html ${ATTNSCOPE_PAGE_FOLDER}/offline.html)
else()
  file(GLOB_RECURSE page_files CONFIGURE_DEPENDS ${ATTNSCOPE_PAGE_FOLDER}/*)
endif()

set(generated ${PROJECT_BINARY_DIR}/page)
add_custom_command(
  OUTPUT ${generated}/bytes.s ${generated}/table.cc
  COMMAND ${CMAKE_COMMAND} -DAPPLE=${APPLE} -DFOLDER=${ATTNSCOPE_PAGE_FOLDER} -DOUT=${generated} -P
          ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${page_files} ${CMAKE_CURRENT_LIST_FILE} ${CMAKE_CURRENT_LIST_DIR}/embed.cmake
  COMMENT "The page as part of the program" VERBATIM)
add_library(attn_page_files STATIC ${generated}/bytes.s ${generated}/table.cc)
set_target_properties(attn_page_files PROPERTIES ARCHIVE_OUTPUT_DIRECTORY ${generated} OUTPUT_NAME attnscope_attn_page)
target_include_directories(attn_page_files PRIVATE ${PROJECT_SOURCE_DIR}/src)
target_link_libraries(attn_page_files PRIVATE attn_flags)
target_compile_features(attn_page_files PRIVATE cxx_std_20)

add_library(attn_page INTERFACE)
set_property(GLOBAL PROPERTY attn_folder_of_attn_page src/builtin)
target_include_directories(attn_page INTERFACE ${PROJECT_SOURCE_DIR}/src)
attn_link_file(attn_page ${generated}/${CMAKE_STATIC_LIBRARY_PREFIX}attnscope_attn_page${CMAKE_STATIC_LIBRARY_SUFFIX}
               attn_page_files)
