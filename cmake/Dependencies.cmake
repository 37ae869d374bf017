# Everything that comes from outside; docs/architecture.md gives the reason for each.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
find_package(JPEG REQUIRED)
find_package(PNG REQUIRED)
find_package(WebP REQUIRED)
find_package(ZLIB REQUIRED)
find_package(LibLZMA REQUIRED)
find_package(Freetype REQUIRED)
# Debian's fonts-dejavu-core, and where other systems have it. Its bytes become part of the program.
find_file(CAIT_TYPEFACE DejaVuSans.ttf REQUIRED PATHS /usr/share/fonts /usr/local/share/fonts
          PATH_SUFFIXES truetype/dejavu dejavu-sans-fonts dejavu TTF)
mark_as_advanced(CAIT_TYPEFACE)
find_package(CURL REQUIRED)
find_package(OpenMP)
find_package(Threads REQUIRED)
# The header alone: the package's own target would make everybody link the shared library.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
mark_as_advanced(TOMLPLUSPLUS_INCLUDE_DIR)
if(CAIT_ANALYSIS)
  find_path(EIGEN_INCLUDE_DIR Eigen/Core PATH_SUFFIXES eigen3 REQUIRED)  # headers alone
  mark_as_advanced(EIGEN_INCLUDE_DIR)
endif()
if(CAIT_TRAIN)
  find_package(Torch REQUIRED)
  find_package(DNNL REQUIRED)
endif()
if(CAIT_TRAIN OR CAIT_TESTS)
  find_package(SentencePiece REQUIRED)  # of a module of its own alone
endif()
if(CAIT_SERVE)
  find_package(Boost 1.74 REQUIRED)  # headers alone: Asio and Beast
  find_package(OpenSSL REQUIRED)
endif()
if(CAIT_FAISS)
  find_package(faiss REQUIRED)
endif()
