# Installs the build tree into an empty prefix, builds the consumer against it and runs the result.
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE output
                  ERROR_VARIABLE output)
  if(NOT status EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "${command}\nexited with ${status}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

file(REMOVE_RECURSE ${work_dir})
run(${CMAKE_COMMAND} --install ${build_dir} --prefix ${work_dir}/prefix)
# The prefix moves before use: an installed package must not remember where it was built.
file(RENAME ${work_dir}/prefix ${work_dir}/moved)

run(${CMAKE_COMMAND} -S ${consumer_dir} -B ${work_dir}/build -G ${generator}
    -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_BUILD_TYPE=${build_type}
    -D CMAKE_PREFIX_PATH=${work_dir}/moved -D CAIT_VERSION=${version})
run(${CMAKE_COMMAND} --build ${work_dir}/build)
run(${work_dir}/build/consumer)

string(STRIP "${output}" output)
set(expected "float32 [2, 3] sum 21 | shape [4, -2] has a negative extent")
if(NOT output STREQUAL expected)
  message(FATAL_ERROR "consumer: expected '${expected}', found '${output}'")
endif()
message(STATUS "${output}")
