#!/usr/bin/env bash
# Shows that check_loops.py names loops over what is gone and leaves the others alone.
set -euo pipefail
check="$(cd "$(dirname "$0")" && pwd)/check_loops.py"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
failures=0
mkdir -p "$tree/src"
cat >"$tree/src/declared.h" <<'TEXT'
Json read_json(const std::string& file);
const Json& file();
Graph record(const Spec& spec);
Model load();
struct Model {
    const Spec& spec() const;
    std::vector<Entry> index() const;
    std::span<const float> floats() const;
    std::map<int, int> counts_;
};
TEXT

# expect STATUS LOOP: puts the loop into an otherwise clean tree.
expect() {
    local status=$1 loop=$2 found=0 output
    printf '// A file.\n%s\n' "$loop" >"$tree/src/a.cpp"
    output="$(python3 -B "$check" "$tree")" || found=$?
    if [[ $found -ne $status ]]; then
        echo "'$loop': expected exit $status, found $found"
        failures=$((failures + 1))
    elif [[ $status -ne 0 && $output != "src/a.cpp:2: "* ]]; then
        echo "'$loop': expected a message that starts with src/a.cpp:2, found '$output'"
        failures=$((failures + 1))
    fi
}

expect 0 'for (const auto& one : read_json("a.json")) use(one);'
expect 0 'for (const auto& one : file()["cases"]) use(one);'
expect 0 'for (const auto& one : file()["cases"][3].items()) use(one);'
expect 0 'for (const Param& one : record(spec).params) use(one);'
expect 0 'for (const Param& one : record(load().spec()).params) use(one);'
expect 0 'for (const Entry& one : load().index()) use(one);'
expect 0 'for (const Entry& one : model.spec().entries()) use(one);'
expect 0 'for (const auto& [a, b] : model.at("x").floats().subspan(1)) use(a);'
expect 0 'for (const float x : std::span(all).subspan(2)) use(x);'
expect 0 'for (const int x : json["a"].get<std::vector<int>>()) use(x);'
expect 0 'for (const int x : {1, 2, 3}) use(x);'
expect 0 'for (int i = 0; i < read_json("a")["n"]; ++i) use(i);'
expect 0 'for (const auto& x : load().family->presets) use(x);'
expect 0 '// for (const auto& one : read_json("a.json")["cases"]) in a comment'
expect 0 'for (const Json file = read_json("a"); const auto& one : file["cases"]) use(one);'

expect 1 'for (const auto& one : read_json("a.json")["cases"]) use(one);'
expect 1 'for (const auto& one : golden::read_json("a.json")["cases"]["x"]) use(one);'
expect 1 'for (const auto& [key, value] : read_json("a.json").items()) use(key);'
expect 1 'for (const auto& one : read_json("a.json").at("cases")) use(one);'
expect 1 'for (const Entry& one : load().spec().entries) use(one);'
expect 1 'for (const float x : load().floats()) use(x);'
expect 1 'for (const auto& one : nlohmann::json::parse(text)["cases"]) use(one);'
expect 1 'for (const auto& one : load()->entries) use(one);'
# A function of the file's own, whose name the standard library has for something else.
expect 1 'for (const Entry& one : last("a").spec().entries) use(one);
Model last(const std::string& run);'
expect 1 'for (const auto& one :
     read_json("a.json")["cases"])
    use(one);'

[[ $failures -eq 0 ]] || exit 1
echo "check_loops.py: all cases as expected"
