"""Where a bug can be planted, and which: a site is one changed token, or one deleted statement, together with the
expression around it that has to be written twice so that the bug can be switched on at run time."""
import random
import re
from dataclasses import dataclass

import scan

SWAPS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "+": "-", "-": "+", "*": "/", "/": "*",
         "&&": "||", "||": "&&", "++": "--", "--": "++", "true": "false", "false": "true",
         "std::min": "std::max", "std::max": "std::min", "+=": "-=", "-=": "+=", "*=": "/=", "/=": "*="}
BINARY = re.compile(r"(?<=[\s])(<=|>=|==|!=|&&|\|\||[<>+\-*/])(?=\s)")
WORDS = re.compile(r"\b(?:true|false)\b|\bstd::(?:min|max)\b(?!_)|\+\+|--")
NUMBER = re.compile(r"(?<![\w.$'])(0[xX][0-9a-fA-F']+|\d[\d']*(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+)([a-zA-Z]*)(?![\w.'])")
CONTROL = re.compile(r"(?:else\s+)?(if|while|for|switch)(\s+constexpr)?\s*(?=\()")
PREFIX = re.compile(r"(?:case\s+(?:[^:;]|::)+:(?!:)|default:|public:|private:|protected:|else\b|do\b|\[\[\w+\]\])\s*")
NO_STATEMENT = re.compile(
    r"(?:throw|using|typedef|template|friend|static_assert|constexpr|consteval|constinit|extern|goto|delete|asm|"
    r"enum|class|struct|union|namespace|explicit|virtual|operator|requires|concept|break|continue)\b|inline constexpr")
CALL = re.compile(r"(?:::)?[A-Za-z_][\w:.>\[\]-]*\(")
# Deleting these changes no result.
NO_EFFECT = re.compile(r"(?:\b|_)(?:reserve|shrink_to_fit|assert|prefetch|madvise|posix_fadvise|static_cast<void>)\(")
ASSIGNMENT = re.compile(r" (=|[+\-*/%&|^]=|<<=|>>=) ")


@dataclass
class Site:
    file: str
    line: int
    start: int  # the expression that is written twice
    end: int
    style: str  # "value", "bool", "void" or "delete"
    changed: str  # that expression with the bug
    before: str  # the source line without and with it
    after: str
    spelt: str = ""  # the expression without the bug, where its text is none by itself

    def text(self):
        return f"{self.before}  →  {self.after}"


class File:
    def __init__(self, name, text):
        self.name, self.text = name, text
        self.clean, self.code = scan.mask(text)
        self.sites = []

    def line_of(self, offset):
        return self.text.count("\n", 0, offset) + 1

    def add(self, start, end, style, at, length, new):
        """The bug `new` in place of `length` characters at `at`, within the expression from start to end."""
        first = self.text.rfind("\n", 0, at) + 1
        last = self.text.find("\n", at)
        last = len(self.text) if last < 0 else last
        changed = self.clean[start:at] + new + self.clean[at + length:end]
        changed = " ".join(line.strip() for line in changed.splitlines())
        after = self.clean[first:at] + (new or "(deleted)") + self.clean[at + length:max(last, at + length)]
        self.sites.append(Site(self.name, self.line_of(at), start, end, style, changed,
                               self.clean[first:last].strip(), " ".join(after.split())))

    def strip(self, start, end):
        """The same stretch without blanks at its ends."""
        inner = self.code[start:end]
        return start + len(inner) - len(inner.lstrip()), end - (len(inner) - len(inner.rstrip()))

    def expression(self, start, end, style="value"):
        """Changed tokens of an expression."""
        start, end = self.strip(start, end)
        code = self.code[start:end]
        if not code or code[0] in "{=" or "$" * 400 in code:
            return
        for match in BINARY.finditer(code):
            beside = (code[:match.start()].rstrip() or " ")[-1] + (code[match.end():].lstrip() or " ")[0]
            if '"' in beside and match[1] in "+-*/":  # texts and paths
                continue
            self.add(start, end, style, start + match.start(), len(match[0]), SWAPS[match[1]])
        for match in WORDS.finditer(code):
            self.add(start, end, style, start + match.start(), len(match[0]), SWAPS[match[0]])
        for match in NUMBER.finditer(code):
            if code[:match.start()].endswith("<") or code[match.end():].startswith(">"):
                continue  # a template's argument
            self.add(start, end, style, start + match.start(), len(match[0]), next_number(match[1]) + match[2])

    def condition(self, keyword, start, end):
        parts = [start, *(at + 1 for at in scan.split(self.code, start, end, ";")), end + 1]
        if keyword == "switch" or (keyword == "for") != (len(parts) == 4):
            return
        start, end = (parts[1], parts[2] - 1) if keyword == "for" else (parts[-2], end)
        start, end = self.strip(start, end)
        if start >= end or ASSIGNMENT.search(self.code, start, end):
            return
        self.expression(start, end, "bool")
        if keyword == "if":
            self.add(start, end, "bool", start, end - start, f"!({self.clean[start:end]})")

    def body(self, start, end, scope, blocks):
        """A statement without what controls it."""
        start, end = self.strip(start, end)
        code = self.code[start:end]
        if not code or NO_STATEMENT.match(code) or " constexpr " in code:
            return
        if code.startswith("return "):
            if not blocks:
                self.expression(start + 7, end)
            return
        equals = [ASSIGNMENT.match(self.code, at) for at in scan.split(self.code, start, end, " ")]
        equals = [match for match in equals if match and match.end() <= end]
        if equals:
            self.assignment(start, end, equals[0], scope, blocks)
        elif scope == "block" and CALL.match(code) and code.endswith(")") and not NO_EFFECT.search(code):
            self.add(start, end, "delete", start, end - start, "")
            if not blocks:
                self.expression(start, end, "void")
        elif scope == "block" and re.match(r"(?:\+\+|--)[\w.>\[\]()*-]+$|[\w.>\[\]()*-]+(?:\+\+|--)$", code):
            self.expression(start, end, "void")

    def assignment(self, start, end, equals, scope, blocks):
        left = re.sub(r"\[[^\[\]]*\]|\([^()]*\)", "", self.code[start:equals.start()])
        declares = bool(re.search(r"\s", left))
        if re.search(r"= (?:delete|default|0)$", self.code[start:end]) and "(" in self.code[start:equals.start()]:
            return
        if declares and (equals[1] != "=" or re.match(r"(?:\w+ )*(?:static|inline)\b", left) and scope != "block"):
            return
        if not declares and scope != "block":
            return
        if not declares:
            self.add(start, end, "delete", start, end - start, "")
            if equals[1] in SWAPS and not blocks and '"' not in self.code[start:end]:
                self.add(start, end, "void", equals.start(1), len(equals[1]), SWAPS[equals[1]])
        if not blocks and not scan.split(self.code, equals.end(), end, ","):
            self.expression(equals.end(), end)

    def statement(self, statement):
        at = statement.start
        while True:
            at += len(self.code[at:statement.end]) - len(self.code[at:statement.end].lstrip())
            control = CONTROL.match(self.code, at, statement.end)
            prefix = PREFIX.match(self.code, at, statement.end)
            if control:
                close = scan.closing(self.code, control.end())
                if close >= statement.end:
                    return
                if not control[2] and "{" not in self.code[control.end():close]:
                    self.condition(control[1], control.end() + 1, close)
                at = close + 1
            elif prefix:
                at = prefix.end()
            else:
                break
        if not statement.header:
            self.body(at, statement.end, statement.scope, statement.blocks)


def next_number(text):
    digits = text.replace("'", "")
    if digits.lower().startswith("0x"):
        return hex(int(digits, 16) + 1)
    if digits.isdigit():
        return "0" if digits == "1" else str(int(digits, 8 if digits.startswith("0") else 10) + 1)
    return "0.0" if float(digits) == 1 else repr(float(digits) + 1)


def sites(name, text):
    """All sites of a file, in order."""
    file = File(name, text)
    for statement in scan.statements(file.code):
        if not statement.constant:
            file.statement(statement)
    return sorted(file.sites, key=lambda site: (site.line, site.start, site.end, site.style, site.changed))


def sequence(files, seed):
    """One site for each line that has any, in the order in which this seed draws them. files: name → text."""
    lines = {}
    for name in sorted(files):
        for site in sites(name, files[name]):
            lines.setdefault((name, site.line), []).append(site)
    random_source = random.Random(seed)
    order = sorted(lines)
    random_source.shuffle(order)
    return [random_source.choice(lines[line]) for line in order]
