# What `cmake --install` puts where, and the package that find_package(cait) reads. Two components, which
# are two Debian packages: `program`, and `development` for those who use the library.
include(CMakePackageConfigHelpers)
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cait)

# A static library names its private parts in the export, for the final link. Header-only parts are
# compiled in already and need not be on the consumer's machine.
function(cait_drop_header_only target)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  if(links)
    list(FILTER links EXCLUDE REGEX "nlohmann_json|CLI11|tomlplusplus|httplib")
    set_target_properties(${target} PROPERTIES INTERFACE_LINK_LIBRARIES "${links}")
  endif()
endfunction()

# The packages behind the imported targets that are left: "$<LINK_ONLY:fmt::fmt>" needs fmt.
function(cait_packages_behind target result)
  get_target_property(links ${target} INTERFACE_LINK_LIBRARIES)
  string(REGEX MATCHALL "[A-Za-z0-9_]+::" packages "${links}")
  list(TRANSFORM packages REPLACE "::" "")
  list(REMOVE_DUPLICATES packages)
  list(REMOVE_ITEM packages cait)
  set(${result} "${packages}" PARENT_SCOPE)
endfunction()

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cait DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development FILES_MATCHING PATTERN "*.h")
target_compile_features(cait-core PUBLIC cxx_std_20)  # the public headers need it
cait_drop_header_only(cait-core)
cait_packages_behind(cait-core CAIT_CORE_PACKAGES)
set_target_properties(cait-core PROPERTIES VERSION ${PROJECT_VERSION}
                                           SOVERSION ${PROJECT_VERSION_MAJOR})
# A shared library is needed by the program, too.
set(library_components COMPONENT development)
if(BUILD_SHARED_LIBS)
  set(library_components COMPONENT program NAMELINK_COMPONENT development)
endif()
install(TARGETS cait-core EXPORT cait-core-targets
        LIBRARY ${library_components} ARCHIVE COMPONENT development)
install(EXPORT cait-core-targets NAMESPACE cait:: DESTINATION ${package_dir} COMPONENT development)

# Components have files of their own: whoever does not ask for one needs none of its packages.
cait_packages_behind(cait-engine CAIT_ENGINE_PACKAGES)
cait_packages_behind(cait-kernels CAIT_KERNEL_PACKAGES)
install(TARGETS cait-engine cait-kernels EXPORT cait-engine-targets
        LIBRARY ${library_components} ARCHIVE COMPONENT development)
install(EXPORT cait-engine-targets NAMESPACE cait:: DESTINATION ${package_dir}
        COMPONENT development)

cait_drop_header_only(cait-evaluate)
cait_packages_behind(cait-text CAIT_TEXT_PACKAGES)
install(TARGETS cait-evaluate cait-text EXPORT cait-evaluate-targets
        LIBRARY ${library_components} ARCHIVE COMPONENT development)
install(EXPORT cait-evaluate-targets NAMESPACE cait:: DESTINATION ${package_dir}
        COMPONENT development)

if(TARGET cait-train)
  set(train_libraries cait-train cait-report cait-recipe)
  foreach(library IN LISTS train_libraries)
    cait_drop_header_only(${library})
  endforeach()
  cait_packages_behind(cait-train CAIT_TRAIN_PACKAGES)
  set_target_properties(cait-train PROPERTIES EXPORT_NAME train)
  install(TARGETS ${train_libraries} EXPORT cait-train-targets
          LIBRARY ${library_components} ARCHIVE COMPONENT development)
  install(EXPORT cait-train-targets NAMESPACE cait:: DESTINATION ${package_dir}
          COMPONENT development)
endif()

# cait-torch and cait-faiss are started by cait, not by people. Only a shared build has libraries of ours to find.
foreach(program IN ITEMS cait cait-faiss cait-torch)
  if(TARGET ${program})
    set(program_dir ${CMAKE_INSTALL_BINDIR})
    if(NOT program STREQUAL "cait")
      set(program_dir ${CMAKE_INSTALL_LIBEXECDIR}/cait)
    endif()
    file(RELATIVE_PATH to_libraries /prefix/${program_dir} /prefix/${CMAKE_INSTALL_LIBDIR})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH_USE_LINK_PATH ON)
    if(BUILD_SHARED_LIBS)
      set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/${to_libraries}")
    endif()
    install(TARGETS ${program} DESTINATION ${program_dir} COMPONENT program)
  endif()
endforeach()

# Loaded by what trains, wherever that is; without training nobody learns a vocabulary.
if(CAIT_TRAIN)
  install(TARGETS cait-sentencepiece LIBRARY DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/cait COMPONENT program)
endif()

# Where bash, zsh, fish and man look.
set(printed ${PROJECT_BINARY_DIR}/generated)
install(FILES ${printed}/cait.bash RENAME cait COMPONENT program
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
install(FILES ${printed}/cait.zsh RENAME _cait COMPONENT program
        DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
install(FILES ${printed}/cait.fish COMPONENT program
        DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
install(FILES ${printed}/cait.1.gz COMPONENT program DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)

# For those who build without CMake: pkg-config --cflags --libs cait. Private parts of static libraries are linked too.
set(CAIT_PC_OPENMP "")
if(TARGET OpenMP::OpenMP_CXX)
  set(CAIT_PC_OPENMP ${OpenMP_CXX_FLAGS})
endif()
configure_file(cmake/cait.pc.in cait.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cait.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
        COMPONENT development)

configure_package_config_file(cmake/cait-config.cmake.in cait-config.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(cait-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/cait-config.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/cait-config-version.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindDNNL.cmake
              ${PROJECT_SOURCE_DIR}/cmake/FindWebP.cmake
        DESTINATION ${package_dir} COMPONENT development)
