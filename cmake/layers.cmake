# One static library per folder of src/, which may use exactly the folders it lists.
# scripts/check_layers reads these calls and holds every #include to them.
#
#   tangc_layer(graph USES base diagnostics LIBRARIES fmt::fmt)
#
# Sources are all .cpp files of the folder and its sub-folders, except files named in EXCLUDE.
function(tangc_layer name)
  cmake_parse_arguments(ARG "" "" "USES;LIBRARIES;EXCLUDE" ${ARGN})
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
