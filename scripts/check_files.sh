#!/usr/bin/env bash
# Holds the two ways to a file: what is read is opened by src/system/open_file.h (or mapped_file.h and
# file_bytes.h on top of it), what is written goes through src/system/atomic_file.h or, where it grows,
# growing_file.h. Whatever opens files by itself stands below, with its reason.
# Usage: check_files.sh [root]. Prints "file:line: text" for each stray and then exits with 1.
set -euo pipefail
cd "${1:-$(dirname "$0")/..}"

# file: why it may
allowed='
src/system/open_file.cpp: the way in
src/system/atomic_file.cpp: the way out
src/system/growing_file.cpp: the way out for what grows
src/system/folder.cpp: what lies in a folder, for those three
src/system/folder.h: declares it
src/system/file_place.cpp: a path or a name below a folder, for those three
src/system/file_place.h: declares it
src/system/machine.cpp: /proc and /sys
src/system/cpu_limit.cpp: /proc and /sys
src/system/cgroup.cpp: /proc and /sys
src/system/own_memory.cpp: /proc
src/system/sandbox.cpp: names places, opens nothing
apps/output.cpp: /dev/null in place of closed descriptors
src/train/memory_forecast.cpp: /proc
src/system/download/download.cpp: a .part file grows and is locked
src/data/pack.cpp: locks a folder
src/serve/access_log.cpp: grows
src/train/run/run_folder.cpp: the lock
src/train/sweep/run_lock.cpp: the lock
src/system/child_process.cpp: /dev/null
'

folders=()
for folder in src apps; do
    [[ -d $folder ]] && folders+=("$folder")
done
if [[ ${#folders[@]} -eq 0 ]]; then
    echo "check_files: no sources under $PWD" >&2
    exit 1
fi
# Streams, C files, and the bare system calls (but not Class::open), with what core/ makes of them.
pattern='\b[io]?fstream\b|\b(fopen|freopen|mkstemp|mkostemp|open_below)\(|(^|[^A-Za-z_>])::(open|openat|creat)\(|place_?\.open\('
status=0
while IFS= read -r line; do
    [[ $allowed != *$'\n'"${line%%:*}: "* ]] || continue
    echo "$line"
    status=1
done < <(grep -rnE "$pattern" --include='*.cpp' --include='*.h' "${folders[@]}" || true)
exit "$status"
