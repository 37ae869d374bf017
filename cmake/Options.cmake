# Flags that every target of ours gets; cait_target(name) applies them.
function(cait_target name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                         -Wno-sign-conversion)
  # g++ 12 sees overlapping copies in std::string where there are none (GCC bug 105651).
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    target_compile_options(${name} PRIVATE -Wno-restrict)
  endif()
  if(CAIT_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  if(CAIT_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${CAIT_SANITIZE} -fno-omit-frame-pointer)
    if(CAIT_SANITIZE STREQUAL "thread")
      # GCC warns of Boost.Asio's fences, which its ThreadSanitizer does not see. The locks beside them it does.
      target_compile_options(${name} PRIVATE -Wno-tsan)
    endif()
    target_link_options(${name} PUBLIC -fsanitize=${CAIT_SANITIZE})
  endif()
endfunction()

# cait_unity(target [files]): compiles the sources of one folder together, at most `files` (16) at a time, so that the
# headers they share are parsed once. A file must therefore not use a name of another file's anonymous namespace
# for something else. -DCAIT_UNITY=OFF compiles one by one: better while one file is being worked on.
function(cait_unity target)
  if(NOT CAIT_UNITY)
    return()
  endif()
  set(most 16)
  if(ARGC GREATER 1)
    set(most ${ARGV1})
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  # What another file of the unit calls its own is no shadow, and no header.
  target_compile_options(${target} PRIVATE -Wno-shadow -Wshadow=local -Wno-subobject-linkage)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources INCLUDE REGEX "\\.cpp$")
  set(folder)
  foreach(source IN LISTS sources)
    get_filename_component(here ${source} ABSOLUTE)
    get_filename_component(here ${here} DIRECTORY)
    if(NOT here STREQUAL folder OR count EQUAL most)
      if(NOT here STREQUAL folder)
        set(part 0)
      endif()
      math(EXPR part "${part} + 1")
      set(folder "${here}")
      set(count 0)
      # Not the absolute path: the name is part of what ccache hashes, and another clone has another one.
      file(RELATIVE_PATH inside ${PROJECT_SOURCE_DIR} ${here})
      string(MAKE_C_IDENTIFIER "${target}_${inside}_${part}" group)
    endif()
    math(EXPR count "${count} + 1")
    set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
  endforeach()
endfunction()

# cait_optimise(target level): for code that computes little, which compiles in less time with a lower level.
function(cait_optimise target level)
  if(CMAKE_BUILD_TYPE STREQUAL "Release")
    target_compile_options(${target} PRIVATE -O${level})
  endif()
endfunction()

# cait_test_program(target level): what only checks need not be fast itself, and compiles in half the time.
function(cait_test_program target level)
  cait_target(${target})
  cait_unity(${target})
  target_compile_options(${target} PRIVATE -O${level})
endfunction()

# Recompiling what has not changed is what takes longest in a clean tree. The sloppiness lets ccache
# serve files that use a precompiled header; paths relative to the tree let one clone serve another.
find_program(CAIT_CCACHE ccache)
mark_as_advanced(CAIT_CCACHE)
if(CAIT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
      ${CAIT_CCACHE})
endif()
