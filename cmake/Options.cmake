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

# Recompiling what has not changed is what takes longest in a clean tree. The sloppiness lets ccache
# serve files that use a precompiled header; paths relative to the tree let one clone serve another.
find_program(CAIT_CCACHE ccache)
mark_as_advanced(CAIT_CCACHE)
if(CAIT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
      CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=true
      ${CAIT_CCACHE})
endif()
