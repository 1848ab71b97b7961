# Prints targets/*.yaml, targets/devices/*.yaml and specs/*.tg as one source file of tang_targets.
# The tool is built from the layer's own reader; it runs again whenever one of the files changes.
function(tangc_embed_tables)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  add_executable(tangc_embed ${folder}/embed_main.cpp ${folder}/embed_print.cpp ${folder}/feature.cpp ${folder}/load.cpp
                             ${folder}/table_reader.cpp ${folder}/target.cpp)
  target_include_directories(tangc_embed PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(tangc_embed PRIVATE -Wall -Wextra)
  target_link_libraries(tangc_embed PRIVATE tang_diagnostics yaml-cpp)

  set(index ${PROJECT_SOURCE_DIR}/targets/index.yaml)
  file(GLOB target_tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/targets/*.yaml)
  list(REMOVE_ITEM target_tables ${index})
  file(GLOB device_tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/targets/devices/*.yaml)
  file(GLOB spec_texts CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/specs/*.tg)

  set(embedded ${PROJECT_BINARY_DIR}/generated/targets/embedded.cpp)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/targets)
  add_custom_command(
    OUTPUT ${embedded}
    COMMAND tangc_embed ${embedded} ${index} ${target_tables} -- ${device_tables} -- ${spec_texts}
    DEPENDS tangc_embed ${index} ${target_tables} ${device_tables} ${spec_texts}
    COMMENT "Embedding targets and specs"
    VERBATIM)
  target_sources(tang_targets PRIVATE ${embedded})
endfunction()

tangc_embed_tables()
