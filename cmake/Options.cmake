# Flags that every target of ours gets; cait_target(name) applies them.
function(cait_target name)
  target_compile_options(${name} PRIVATE -Wall -Wextra -Wpedantic -Wshadow -Wnon-virtual-dtor
                                         -Wno-sign-conversion)
  if(CAIT_WERROR)
    target_compile_options(${name} PRIVATE -Werror)
  endif()
  if(CAIT_SANITIZE)
    target_compile_options(${name} PRIVATE -fsanitize=${CAIT_SANITIZE} -fno-omit-frame-pointer)
    target_link_options(${name} PUBLIC -fsanitize=${CAIT_SANITIZE})
  endif()
endfunction()
