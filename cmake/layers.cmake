# One static library per folder of src/, which may use exactly the folders it lists.
# scripts/check_layers reads these calls and holds every #include to them.
#
#   tangc_layer(graph USES base diagnostics LIBRARIES fmt::fmt)
#
# Sources are all .cpp files of the folder and its sub-folders, except files named in EXCLUDE. Where
# CMAKE_UNITY_BUILD is on, neighbours in a folder are compiled eight at a time (half the time of a whole build);
# names in their anonymous namespaces differ then, but for folders named in APART, whose files stay alone.
function(tangc_layer name)
  cmake_parse_arguments(ARG "" "" "USES;LIBRARIES;EXCLUDE;APART" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${name}/*.cpp)
  foreach(pattern IN LISTS ARG_EXCLUDE)
    list(FILTER sources EXCLUDE REGEX "${pattern}")
  endforeach()
  if(NOT sources)
    add_library(tang_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(tang_${name} STATIC ${sources})
    set(scope PUBLIC)
    tangc_unity_groups(tang_${name} "${ARG_APART}" ${sources})
    # g++ 12 reports overlaps inside std::string and unset values inside std::optional that are none
    # (GCC bugs 105651, 80635).
    target_compile_options(tang_${name} PRIVATE -Wall -Wextra
      "$<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Release>>:-Wno-restrict;-Wno-maybe-uninitialized>")
    if(TANGC_WERROR)
      target_compile_options(tang_${name} PRIVATE -Werror)
    endif()
  endif()
  target_include_directories(tang_${name} ${scope} ${PROJECT_SOURCE_DIR}/src ${PROJECT_BINARY_DIR}/generated)
  foreach(used IN LISTS ARG_USES)
    target_link_libraries(tang_${name} ${scope} tang_${used})
  endforeach()
  target_link_libraries(tang_${name} ${scope} ${ARG_LIBRARIES})
endfunction()

# Puts sources into groups of eight neighbours; those of folders named in `apart` stay alone.
function(tangc_unity_groups target apart)
  set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
  foreach(source IN LISTS ARGN)
    get_filename_component(folder ${source} DIRECTORY)
    get_filename_component(folder_name ${folder} NAME)
    if(folder_name IN_LIST apart)
      continue()
    endif()
    file(RELATIVE_PATH key ${CMAKE_CURRENT_SOURCE_DIR} ${folder})
    string(MAKE_C_IDENTIFIER ${key} key)
    list(LENGTH folder_${key} before)
    list(APPEND folder_${key} ${source})
    math(EXPR batch "${before} / 8")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${key}_${batch})
  endforeach()
endfunction()
