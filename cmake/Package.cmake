# `cpack` in the build folder makes two Debian packages: cait and libcait-dev.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME cait)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "${PROJECT_DESCRIPTION}")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "cait maintainers <maintainers@cait.example>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_COMPONENTS_ALL program development)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME cait)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION
"CaiT, DeiT, DeiT III, ViT, VOLO, ResMLP, PatchConvNet and their relatives:
trained, fine-tuned, distilled, evaluated and explained from the command line,
with the weights that their authors published or with your own.")
# LibTorch multiplies with whatever BLAS there is; the reference one is far slower.
set(CPACK_DEBIAN_PROGRAM_PACKAGE_RECOMMENDS libopenblas0-openmp)

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libcait-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION
"Loads, runs and trains CaiT and its relatives from C++ programs. This package
has the headers, the libraries and what find_package(cait) of CMake reads.")
# What the final link of a static library needs; the evaluate component needs FreeType, train the others as well.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
    "libfmt-dev, libjpeg-dev, libpng-dev, libwebp-dev, zlib1g-dev, liblzma-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "libtorch-dev, libdnnl-dev, libfreetype-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS cait)

# Every Debian package says under which licence it is and what changed.
string(TIMESTAMP CAIT_DEBIAN_DATE "%a, %d %b %Y %H:%M:%S +0000" UTC)
set(printed ${PROJECT_BINARY_DIR}/generated)
configure_file(cmake/debian/changelog.in ${printed}/changelog.Debian @ONLY)
execute_process(COMMAND ${CAIT_GZIP} -9nkf ${printed}/changelog.Debian COMMAND_ERROR_IS_FATAL ANY)
foreach(pair IN ITEMS program:cait development:libcait-dev)
  string(REPLACE ":" ";" pair ${pair})
  list(GET pair 0 component)
  list(GET pair 1 package)
  install(FILES ${PROJECT_SOURCE_DIR}/cmake/debian/copyright ${printed}/changelog.Debian.gz
          DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/${package} COMPONENT ${component})
endforeach()
include(CPack)
