# Copies the files of targets/preludes/ into one C++ list of {name, text}. As a script it writes the
# list; included from src/CMakeLists.txt it makes the rule that runs the script.
if(CMAKE_SCRIPT_MODE_FILE)
  set(out "")
  string(REPLACE "|" ";" files "${FILES}")
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME)
    file(READ ${file} text)
    string(APPEND out "{\"${name}\", R\"tg_prelude(${text})tg_prelude\"},\n")
  endforeach()
  file(WRITE ${OUT} "${out}")
  return()
endif()

file(GLOB prelude_files CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/targets/preludes/*)
list(SORT prelude_files)
list(JOIN prelude_files "|" prelude_list)
set(prelude_text ${PROJECT_BINARY_DIR}/generated/print/preludes.inc)
file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/print)
add_custom_command(
  OUTPUT ${prelude_text}
  COMMAND ${CMAKE_COMMAND} "-DFILES=${prelude_list}" -DOUT=${prelude_text} -P ${CMAKE_CURRENT_LIST_FILE}
  DEPENDS ${prelude_files} ${CMAKE_CURRENT_LIST_FILE}
  COMMENT "Embedding preludes"
  VERBATIM)
target_sources(tang_print PRIVATE ${prelude_text})
