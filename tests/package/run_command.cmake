# What the package tests share: run(COMMAND…) keeps `output` or ends the test, expect(REGEX) reads it.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nexited with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

function(expect expected)
  string(STRIP "${output}" found)
  if(NOT found MATCHES "${expected}")
    message(FATAL_ERROR "expected '${expected}', found '${found}'")
  endif()
  message(STATUS "${found}")
endfunction()
