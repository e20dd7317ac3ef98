# The page, built by node from web/ into ATTNSCOPE_PAGE_FOLDER: index.html, its assets, and offline.html.
#
# Dependencies are in web/node_modules, shared by all build directories. npm uses the network only when the lock file
# has changed.
#
# As a script (-P), with NODE, WEB and OUT: builds the page. Without OUT: only installs the dependencies.

if(CMAKE_SCRIPT_MODE_FILE)
  file(LOCK ${WEB} DIRECTORY GUARD PROCESS TIMEOUT 600)  # another build directory may be building
  get_filename_component(folder ${NODE} DIRECTORY)
  set(ENV{PATH} "${folder}:$ENV{PATH}")
  # npm writes this file last, so after an interrupted install it is still older than the lock file.
  set(installed ${WEB}/node_modules/.package-lock.json)
  if(NOT EXISTS ${installed} OR ${WEB}/package-lock.json IS_NEWER_THAN ${installed})
    execute_process(COMMAND ${folder}/npm ci --loglevel=error --no-progress WORKING_DIRECTORY ${WEB} OUTPUT_QUIET
                    COMMAND_ERROR_IS_FATAL ANY)
  endif()
  if(NOT OUT)
    return()
  endif()
  foreach(mode IN ITEMS production offline)
    execute_process(COMMAND ${CMAKE_COMMAND} -E env ATTNSCOPE_DIST=${OUT} ${NODE} node_modules/vite/bin/vite.js build
                            --mode ${mode} --logLevel warn
                    WORKING_DIRECTORY ${WEB} COMMAND_ERROR_IS_FATAL ANY)
  endforeach()
  return()
endif()

set(web ${PROJECT_SOURCE_DIR}/web)
# tools/setup.sh also runs tools/node.sh, so that both use the same node.
execute_process(COMMAND ${PROJECT_SOURCE_DIR}/tools/node.sh OUTPUT_VARIABLE found_node ERROR_VARIABLE node_problem
                OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
set(ATTNSCOPE_NODE "${found_node}" CACHE FILEPATH "The node to build the page with")
if(NOT ATTNSCOPE_NODE)
  unset(ATTNSCOPE_NODE CACHE)
  message(FATAL_ERROR "${node_problem}")
endif()

file(GLOB_RECURSE web_sources CONFIGURE_DEPENDS ${web}/src/* ${web}/build/*)
add_custom_command(
  OUTPUT ${ATTNSCOPE_PAGE_FOLDER}/index.html ${ATTNSCOPE_PAGE_FOLDER}/offline.html
  COMMAND ${CMAKE_COMMAND} -DNODE=${ATTNSCOPE_NODE} -DWEB=${web} -DOUT=${ATTNSCOPE_PAGE_FOLDER} -P
          ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${web_sources} ${web}/index.html ${web}/package-lock.json ${web}/vite.config.ts ${web}/svelte.config.js
          ${web}/tsconfig.json ${PROJECT_SOURCE_DIR}/src/figure/colour/colour_tables.cc ${CMAKE_CURRENT_LIST_FILE}
  COMMENT "Building the page" VERBATIM)
