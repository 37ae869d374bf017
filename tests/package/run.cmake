# Installs the build tree into an empty prefix, builds the consumer against it and runs the result.
cmake_minimum_required(VERSION 3.25)

include(${CMAKE_CURRENT_LIST_DIR}/run_command.cmake)

file(REMOVE_RECURSE ${work_dir})
run(${CMAKE_COMMAND} --install ${build_dir} --prefix ${work_dir}/prefix)
# The prefix moves before use: an installed package must not remember where it was built.
file(RENAME ${work_dir}/prefix ${work_dir}/moved)

run(${CMAKE_COMMAND} -S ${consumer_dir} -B ${work_dir}/build -G ${generator}
    -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_BUILD_TYPE=${build_type}
    -D CMAKE_PREFIX_PATH=${work_dir}/moved -D CAIT_VERSION=${version} -D CAIT_TRAIN=${train})
run(${CMAKE_COMMAND} --build ${work_dir}/build)
set(model ${work_dir}/tiny.safetensors)
run(${work_dir}/build/consumer ${pictures}/jpeg_420.jpg ${model})

expect("^cait_xxs24_224 [0-9]+ [|] \\[1, 3, 16, 16\\] [|] unknown model 'cait_xxs25_224'; nearest: cait_xxs24_224")

# Without CMake, through pkg-config; the prefix has moved, and its file with it.
find_program(pkg_config pkg-config)
if(pkg_config)
  file(GLOB_RECURSE description ${work_dir}/moved/cait.pc)
  get_filename_component(description ${description} DIRECTORY)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env PKG_CONFIG_PATH=${description} ${pkg_config} --cflags --libs cait
                  OUTPUT_VARIABLE flags OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  separate_arguments(flags UNIX_COMMAND "${flags}")
  run(${compiler} -std=c++20 ${examples_dir}/classify_folder.cpp -o ${work_dir}/by_pkg_config ${flags})
  file(COPY ${pictures}/jpeg_420.jpg DESTINATION ${work_dir}/one)
  run(${work_dir}/by_pkg_config ${model} ${work_dir}/one)
  expect("jpeg_420.jpg: class [0-2] [(][0-9.]+ %[)]")
endif()

# The examples are a project of their own.
run(${CMAKE_COMMAND} -S ${examples_dir} -B ${work_dir}/examples -G ${generator}
    -D CMAKE_CXX_COMPILER=${compiler} -D CMAKE_BUILD_TYPE=${build_type}
    -D CMAKE_PREFIX_PATH=${work_dir}/moved -D CMAKE_CXX_FLAGS=-Wall\ -Wextra\ -Werror
    -D CMAKE_C_FLAGS=-Wall\ -Wextra\ -Werror)
run(${CMAKE_COMMAND} --build ${work_dir}/examples)
file(COPY ${pictures}/jpeg_420.jpg ${pictures}/jpeg_444.jpg DESTINATION ${work_dir}/two)
run(${work_dir}/examples/classify_folder ${model} ${work_dir}/two)
expect("jpeg_4[24][04].jpg: class [0-2] [(][0-9.]+ %[)]\njpeg_4")
run(${work_dir}/examples/classify_c ${model} ${pictures}/jpeg_420.jpg)
expect("^class [0-2]: [0-9.]+ %\nclass [0-2]: [0-9.]+ %\nclass [0-2]: [0-9.]+ %$")
run(${work_dir}/examples/attention_map ${model} ${pictures}/jpeg_420.jpg ${work_dir}/map.png)
expect("seen in 2 x 2 patches")
file(SIZE ${work_dir}/map.png map_bytes)
run(${CMAKE_COMMAND} -E env sh -c "head -c 3072 /dev/zero | ${work_dir}/examples/camera_loop ${model} 16 32")
expect("^frame 0: class [0-2] .*\nframe 1: class [0-2]")

run(${work_dir}/moved/bin/cait models cait_xxs24_224)
expect("cait_xxs24_224")
# Two classes of two images each.
file(COPY ${pictures}/jpeg_grey.jpg ${pictures}/jpeg_exif1.jpg DESTINATION ${work_dir}/photos/one)
file(COPY ${pictures}/jpeg_444.jpg ${pictures}/jpeg_420.jpg DESTINATION ${work_dir}/photos/two)
run(${work_dir}/build/evaluator ${model} ${work_dir}/photos)
expect("^4 images: top1 top5 mean_class_accuracy loss ece\n4 vectors of 16, length 1$")
run(${work_dir}/build/segmenter ${pictures}/jpeg_420.jpg ${work_dir}/segments.safetensors)
expect("^3 classes, every pixel\nsky, the same, a PNG\n[^\n]*missing")
run(${work_dir}/examples/segment_folder ${work_dir}/segments.safetensors ${work_dir}/two ${work_dir}/labels)
expect("jpeg_4[24][04].jpg: .*(road|sky|car) [0-9.]+ %")
file(SIZE ${work_dir}/labels/jpeg_420.png label_bytes)
run(${work_dir}/build/detector ${pictures}/jpeg_420.jpg ${work_dir}/objects.safetensors)
expect("^3 classes, objects\nsquare, the same, a mask\n[^\n]*missing")
run(${work_dir}/examples/detect_folder ${work_dir}/objects.safetensors ${work_dir}/two ${work_dir}/found)
expect("jpeg_4[24][04].jpg: [0-9]+ objects")
file(SIZE ${work_dir}/found/jpeg_420.png found_bytes)
run(${work_dir}/examples/detect_c ${work_dir}/objects.safetensors ${pictures}/jpeg_420.jpg)
expect("^[0-9]+ objects")
if(train)
  run(${work_dir}/build/runner ${work_dir}/photos ${work_dir}/run)
  expect("^\\[2, 3\\] \\[2, 16\\]\n2 epochs, 2 classes$")
  # The installed program finds its other half in libexec.
  set(tiny)
  foreach(setting image_size=16 patch=8 dim=16 depth=1 classes=3)
    list(APPEND tiny --set model.${setting})
  endforeach()
  run(${work_dir}/moved/bin/cait forward --model cait_xxs24_224 ${tiny} --input ${images}
      --output ${work_dir}/y.npy)
endif()
