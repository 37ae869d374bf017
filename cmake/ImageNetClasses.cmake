# Puts src/data/imagenet_classes.txt into the library: published weights do not name their classes.
function(cait_embed_imagenet_classes target)
  set(file ${PROJECT_SOURCE_DIR}/src/data/imagenet_classes.txt)
  file(READ ${file} CAIT_IMAGENET_CLASSES)
  set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  set(source ${PROJECT_BINARY_DIR}/generated/imagenet_classes_text.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/src/data/imagenet_classes_text.cpp.in ${source} @ONLY)
  # The standard asks compilers for no more than 65536 characters; ours take any number.
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${source})
endfunction()
