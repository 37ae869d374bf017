#!/usr/bin/env bash
# Shows that check_files.sh accepts what is allowed and names whoever opens files by himself, on trees made
# for it.
set -euo pipefail
# shellcheck source=scripts/check_cases.sh
. "$(dirname "$0")/check_cases.sh" check_files.sh

expect 0 src/weights/a.cpp 'const MappedFile file = MappedFile::open(path);'
expect 0 src/weights/a.cpp 'const TensorFile file = TensorFile::open(path);'
expect 0 src/weights/a.cpp 'reader.open(path); reader->open(path);'
expect 0 src/system/open_file.cpp 'const int fd = ::open(path, O_RDONLY);'
expect 0 src/system/atomic_file.cpp 'const int fd = ::openat(folder, name, O_WRONLY);'
expect 0 tests/a.cpp 'std::ifstream file(path);'

expect 1 src/weights/a.cpp 'std::ifstream file(path);'
expect 1 src/weights/a.h '#include <fstream>'
expect 1 src/weights/a.cpp 'std::ofstream file(path);'
expect 1 src/weights/a.cpp 'std::fstream file(path);'
expect 1 apps/a.cpp 'FILE* file = std::fopen(path, "rb");'
expect 1 apps/a.cpp 'FILE* file = fopen(path, "rb");'
expect 1 src/serve/http/a.cpp 'const int fd = ::open(path, O_RDONLY);'
expect 1 src/serve/http/a.cpp 'return ::openat(folder, name, O_RDONLY);'
expect 1 src/serve/http/a.cpp 'return ::creat(name, 0600);'
expect 1 src/base/a.cpp 'const int fd = mkstemp(name);'
expect 1 src/system/open_file_other.cpp 'const int fd = ::open(path, O_RDONLY);'

found=0
rm -rf "${tree:?}"/*
"$check" "$tree" 2>/dev/null || found=$?
[[ $found -eq 1 ]] || failed "a folder without sources: expected exit 1, found $found"

finish
