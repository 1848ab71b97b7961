# Prints atomics/*.yaml as one source file of tang_atomics. The tool is built from the layer's own
# reader; it runs again whenever one of the files changes.
function(tangc_embed_atoms)
  set(folder ${CMAKE_CURRENT_FUNCTION_LIST_DIR})
  add_executable(tangc_embed_atoms ${folder}/embed_main.cpp ${folder}/check.cpp ${folder}/load.cpp ${folder}/row.cpp)
  target_include_directories(tangc_embed_atoms PRIVATE ${PROJECT_SOURCE_DIR}/src)
  target_compile_options(tangc_embed_atoms PRIVATE -Wall -Wextra)
  target_link_libraries(tangc_embed_atoms PRIVATE tang_targets tang_layout tang_graph)

  file(GLOB tables CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/atomics/*.yaml)
  set(embedded ${PROJECT_BINARY_DIR}/generated/atomics/embedded.cpp)
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/generated/atomics)
  add_custom_command(
    OUTPUT ${embedded}
    COMMAND tangc_embed_atoms ${embedded} ${tables}
    DEPENDS tangc_embed_atoms ${tables}
    COMMENT "Embedding instructions"
    VERBATIM)
  target_sources(tang_atomics PRIVATE ${embedded})
endfunction()

tangc_embed_atoms()
