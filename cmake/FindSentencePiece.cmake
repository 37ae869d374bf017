# Debian's SentencePiece has no CMake package: SentencePiece::train, which learns models.
find_path(SentencePiece_INCLUDE_DIR sentencepiece_trainer.h)
find_library(SentencePiece_LIBRARY sentencepiece)
find_library(SentencePiece_TRAIN_LIBRARY sentencepiece_train)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SentencePiece REQUIRED_VARS SentencePiece_TRAIN_LIBRARY SentencePiece_LIBRARY
                                                              SentencePiece_INCLUDE_DIR)
if(SentencePiece_FOUND AND NOT TARGET SentencePiece::train)
  add_library(SentencePiece::train UNKNOWN IMPORTED)
  set_target_properties(SentencePiece::train PROPERTIES IMPORTED_LOCATION ${SentencePiece_TRAIN_LIBRARY}
                                                        INTERFACE_INCLUDE_DIRECTORIES ${SentencePiece_INCLUDE_DIR}
                                                        INTERFACE_LINK_LIBRARIES ${SentencePiece_LIBRARY})
endif()
mark_as_advanced(SentencePiece_INCLUDE_DIR SentencePiece_LIBRARY SentencePiece_TRAIN_LIBRARY)
