# Everything that comes from outside; docs/architecture.md gives the reason for each.
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(CLI11 REQUIRED)
if(CAIT_TRAIN)
  find_package(Torch REQUIRED)
endif()
