# Every third-party library, from the system's packages first and from its source elsewhere.
# Debian 12: libcli11-dev nlohmann-json3-dev libfmt-dev libspdlog-dev libyaml-cpp-dev catch2
include(FetchContent)

# tangc_dependency(<package> <target> <git repository> <tag>): find the package, or fetch its source.
macro(tangc_dependency package target repository tag)
  find_package(${package} QUIET)
  if(NOT TARGET ${target})
    message(STATUS "${package}: not installed, fetching ${tag}")
    FetchContent_Declare(${package} GIT_REPOSITORY ${repository} GIT_TAG ${tag} GIT_SHALLOW ON)
    FetchContent_MakeAvailable(${package})
  endif()
endmacro()

set(YAML_CPP_BUILD_TESTS OFF CACHE BOOL "" FORCE)
set(YAML_CPP_BUILD_TOOLS OFF CACHE BOOL "" FORCE)

tangc_dependency(fmt fmt::fmt https://github.com/fmtlib/fmt.git 9.1.0)
tangc_dependency(spdlog spdlog::spdlog https://github.com/gabime/spdlog.git v1.10.0)
tangc_dependency(CLI11 CLI11::CLI11 https://github.com/CLIUtils/CLI11.git v2.1.2)
tangc_dependency(nlohmann_json nlohmann_json::nlohmann_json https://github.com/nlohmann/json.git v3.11.2)
tangc_dependency(yaml-cpp yaml-cpp https://github.com/jbeder/yaml-cpp.git yaml-cpp-0.7.0)
if(TANGC_TESTS)
  tangc_dependency(Catch2 Catch2::Catch2 https://github.com/catchorg/Catch2.git v2.13.10)
endif()
