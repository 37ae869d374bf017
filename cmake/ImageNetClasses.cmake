# Puts src/data/imagenet_classes.txt and imagenet_parents.txt into the library: published weights do not name their classes, and
# ImageNet does not say what its classes belong to.
function(cait_embed_imagenet_classes target)
  foreach(table classes parents)
    set(file ${PROJECT_SOURCE_DIR}/src/data/imagenet_${table}.txt)
    string(TOUPPER CAIT_IMAGENET_${table} variable)
    file(READ ${file} ${variable})
    set_property(DIRECTORY ${PROJECT_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  endforeach()
  set(source ${PROJECT_BINARY_DIR}/generated/imagenet_classes_text.cpp)
  configure_file(${PROJECT_SOURCE_DIR}/src/data/imagenet_classes_text.cpp.in ${source} @ONLY)
  # The standard asks compilers for no more than 65536 characters; ours take any number.
  set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS -Wno-overlength-strings)
  target_sources(${target} PRIVATE ${source})
endfunction()
