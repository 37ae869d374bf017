"""Shows that bugs are planted where they can act, as valid code, and nowhere else: not in comments, texts,
constant expressions, template arguments, labels or messages of errors."""
import shutil
import tempfile
import unittest
from pathlib import Path

import build
import once_passed
import plant
import scan
import sites
import stages
import suite

# Each line of code, and what becomes of it. Lines that are not here must have no site.
CODE = '''\
// A comment with a < b, true and x = 1;
#include "a.h"  // if (a < b)
#define TWICE(x) ((x) * 2)
constexpr int kSize = 4;
static_assert(kSize < 5);
struct Shape {
    int rows = 3;
    static const int kMost = 5;
    explicit Shape(int n);
    Shape(int a, int b = 2);
    bool empty() const { return rows == 0; }
    int cells_[8];
};
enum class Kind { one = 1, two };
constexpr int doubled(int x) { return x * 2; }
template <int N = 3>
int first(const std::array<int, 4>& x);
void f(int n, const char* text) {
    const char* s = "a < b && true";  /* n + 1 */
    if (n < 3 && text != nullptr) return;
    if (const int m = n; m > 1) g(m);
    for (int i = 0; i < n; ++i) total += i;
    while (n >= 2) --n;
    switch (n) {
        case 1: throw Error("expected 2 + 2");
        default: break;
    }
    std::vector<int> values(3);
    values.reserve(10);
    const auto least = std::min(std::get<0>(pair), n);
    ready_ = true;  // at 3
    items.push_back(n);
    run([&](int x) {
        used = x - 1;
    });
    const std::string name = "x" + other;
    const int sum = one +
                    two;  // * 3
    char quote = '\\'';
    const long big = 1'000L;
}
'''
EXPECTED = {
    7: ["int rows = 4;"],
    11: ["bool empty() const { return rows != 0; }", "bool empty() const { return rows == 1; }"],
    20: ["if (!(n < 3 && text != nullptr)) return;", "if (n < 3 && text == nullptr) return;",
         "if (n < 3 || text != nullptr) return;", "if (n < 4 && text != nullptr) return;",
         "if (n <= 3 && text != nullptr) return;"],
    21: ["if (const int m = n; !(m > 1)) g(m);", "if (const int m = n; m > 0) g(m);",
         "if (const int m = n; m > 1) (deleted);", "if (const int m = n; m >= 1) g(m);"],
    22: ["for (int i = 0; i < n; ++i) (deleted);", "for (int i = 0; i < n; ++i) total -= i;",
         "for (int i = 0; i <= n; ++i) total += i;"],
    23: ["while (n > 2) --n;", "while (n >= 2) ++n;", "while (n >= 3) --n;"],
    30: ["const auto least = std::max(std::get<0>(pair), n);"],
    31: ["(deleted);", "ready_ = false;"],
    32: ["(deleted);"],
    33: ["(deleted)"],
    34: ["(deleted);", "used = x + 1;", "used = x - 0;"],
    37: ["const int sum = one -"],
    40: ["const long big = 1001L;"],
}


class OncePassed(unittest.TestCase):
    """Bugs that the suite once let pass: each still has its place in the sources, and is planted there."""
    def test_every_bug_has_its_place(self):
        root = Path(__file__).resolve().parent.parent.parent
        text = (root / "scripts/mutate_once_passed.txt").read_text()
        found = once_passed.parse(text, plant.sources(root))
        self.assertEqual(len(found), text.count("\n+ "))
        self.assertGreater(len(found), 10)

    def test_spelt_out_where_it_is_no_expression(self):
        source = "int f() {\n    return {1};\n}\n"
        [site] = once_passed.parse("a.cpp\nreturn {1};\n- {1} => int{1}\n+ int{2}\nTwo.\n", {"a.cpp": source})
        planted = plant.rewritten(source, source, {7: site}, "mutant.h")
        self.assertIn("return (cait_mutant(7) ? (int{2}) : (int{1}));", planted)

    def test_an_operand_stays_one(self):
        source = "bool f() {\n    return a || b == c;\n}\n"
        [site] = once_passed.parse("a.cpp\nreturn a || b == c;\n- b == c\n+ false\nTwo.\n", {"a.cpp": source})
        planted = plant.rewritten(source, source, {7: site}, "mutant.h")
        self.assertIn("return a || (cait_mutant(7) ? (false) : (b == c));", planted)

    def test_a_line_that_is_gone_is_an_error(self):
        with self.assertRaises(SystemExit):
            once_passed.parse("a.cpp\nreturn 1;\n- 1\n+ 2\nTwo.\n", {"a.cpp": "return 2;\n"})


class Planting(unittest.TestCase):
    def setUp(self):
        self.sites = sites.sites("src/a.cpp", CODE)

    def planted(self, after, number=7):
        site = next(site for site in self.sites if site.after == after)
        text = plant.rewritten(CODE, scan.mask(CODE)[0], {number: site}, "m.h")
        return site, text.split("\n")[2:]  # without the include and #line

    def test_every_line_has_the_bugs_that_it_should_and_no_other(self):
        found = {}
        for site in self.sites:
            found.setdefault(site.line, []).append(site.after)
        self.assertEqual({line: sorted(after) for line, after in found.items()}, EXPECTED)

    def test_only_the_expression_is_written_twice(self):
        for after, line in {
                "if (n < 3 || text != nullptr) return;":
                    "    if (cait_mutant(7) ? bool(n < 3 || text != nullptr) : bool(n < 3 && text != nullptr)) "
                    "return;",
                "int rows = 4;": "    int rows = (cait_mutant(7) ? (4) : (3));",
                "ready_ = false;": "    ready_ = (cait_mutant(7) ? (false) : (true));  // at 3",
                "for (int i = 0; i < n; ++i) total -= i;":
                    "    for (int i = 0; i < n; ++i) cait_mutant(7) ? void(total -= i) : void(total += i);",
                "if (const int m = n; m > 1) (deleted);":
                    "    if (const int m = n; m > 1) cait_mutant(7) ? void() : void(g(m));"}.items():
            site, text = self.planted(after)
            self.assertEqual(text[site.line - 1], line)

    def test_every_other_line_stays_as_and_where_it_is(self):
        original = CODE.split("\n")
        for after in [after for group in EXPECTED.values() for after in group if after != "(deleted);"]:
            site, text = self.planted(after)
            end = CODE.count("\n", 0, site.end) + 1
            self.assertEqual(len(text), len(original))
            self.assertEqual(text[:site.line - 1] + text[end:], original[:site.line - 1] + original[end:])

    def test_an_expression_over_two_lines_is_planted_without_its_comment(self):
        site, text = self.planted("const int sum = one -")
        self.assertEqual([line.strip() for line in text[site.line - 1:site.line + 1]],
                         ["const int sum = (cait_mutant(7) ? (one - two) : (one +", "two));  // * 3"])

    def test_a_seed_draws_the_same_bugs_again_and_another_one_others(self):
        files = {f"src/{name}.cpp": CODE for name in "abcdef"}
        draw = [(site.file, site.after) for site in sites.sequence(files, 1)]
        self.assertEqual(draw, [(site.file, site.after) for site in sites.sequence(files, 1)])
        self.assertNotEqual(draw, [(site.file, site.after) for site in sites.sequence(files, 2)])

    def test_bugs_do_not_overlap_and_one_that_does_not_compile_gives_way(self):
        sequence = [site for site in self.sites if site.line in (20, 31)]
        chosen = plant.choose(sequence, 2, set())
        self.assertEqual([site.line for site in chosen.values()], [20, 31])
        other = plant.choose(sequence, 2, {min(chosen)})
        self.assertNotIn(min(chosen), other)
        self.assertEqual([site.line for site in other.values()], [20, 31])

    def test_an_error_of_the_compiler_leads_to_the_bug(self):
        with tempfile.TemporaryDirectory() as folder:
            chosen = {3: sites.Site("src/a.cpp", 12, 0, 9, "value", "", "", ""),
                      4: sites.Site("src/a.cpp", 90, 50, 60, "value", "", "", "")}
            output = "FAILED: a.o\ng++ -c ../src/a.cpp\n../src/a.cpp:12:5: error: no\n"
            builder = build.Build(Path(folder), 1)
            self.assertEqual(builder.refused(output, chosen), {3})
            self.assertEqual(builder.refused("FAILED: a.o\ng++ -c ../src/a.cpp\nkilled\n", chosen), {3, 4})


class Hunting(unittest.TestCase):
    """The part that runs tests, with entries of the shell for those of ctest."""
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="mutate-test-"))
        self.state = type("State", (), {})()
        self.state.sites = {number: sites.Site("src/a.cpp", number, 0, 1, "value", "", "", "") for number in (1, 2, 3)}
        self.state.numbers = [1, 2, 3]
        self.state.data = {"entries": {}, "results": {}}
        self.state.save = lambda at_most_every=0: None
        self.addCleanup(shutil.rmtree, self.folder)
        stages.say = lambda text: None
        suite.adopt_orphans()

    def entry(self, name, script):
        return suite.Entry({"name": name, "command": ["sh", "-c", script]}, self.folder)

    def test_a_bug_is_caught_by_an_entry_that_reaches_it_and_fails_survives_otherwise(self):
        mark = 'test -z "$CAIT_MUTANT_REACHED" || printf %s > "$CAIT_MUTANT_REACHED"; '
        reach = mark.replace("%s", r"'\000\001\001\000'")  # bugs 1 and 2, not 3
        entries = {"good": self.entry("good", reach + 'test "$CAIT_MUTANT" != 1'),
                   "weak": self.entry("weak", reach),
                   "broken": self.entry("broken", reach + "false")}
        stages.record(entries, self.state, 2, self.folder)
        self.assertEqual(self.state.data["entries"]["good"]["reached"], [1, 2])
        stages.Hunt(entries, self.state, set()).run(2)
        results = {number: (row["status"], row["by"]) for number, row in self.state.data["results"].items()}
        self.assertEqual(results, {"1": ("caught", "good"), "2": ("survived", None), "3": ("not reached", None)})

    def test_an_entry_that_hangs_is_ended_with_what_it_started(self):
        left = self.folder / "left"
        script = f"(setsid sh -c \"sleep 1; touch {left}\" &) ; sleep 30"
        verdict, seconds, _ = suite.run(self.entry("hangs", script), {}, 0.3)
        self.assertEqual(verdict, "timeout")
        self.assertLess(seconds, 5)
        self.assertEqual(suite.run(self.entry("later", "sleep 1.2"), {}, 30)[0], "passed")
        self.assertFalse(left.exists())


if __name__ == "__main__":
    unittest.main()
