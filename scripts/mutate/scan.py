"""Finds the statements of a C++ file without a compiler: enough of the language for code that clang-format
has formatted, where a binary operator stands between blanks and an initialiser's brace touches its type."""
import re
from dataclasses import dataclass

SCOPES = ("space", "class", "block")  # namespace or file, class, code


@dataclass
class Statement:
    start: int  # offsets into the text; the end is that of the ';' or '{'
    end: int
    scope: str
    constant: bool  # inside a constexpr function
    header: bool  # ends in '{'
    blocks: bool  # holds the body of a lambda


@dataclass
class Frame:
    kind: str  # one of SCOPES, or "(", "[", "init"
    start: int
    constant: bool = False
    blocks: bool = False


TOKENS = re.compile(
    r"""//(?:[^\n\\]|\\.|\\\n)*"""
    r"""|/\*.*?\*/"""
    r"""|(?P<raw>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)")"""
    r"""|(?P<text>"(?:[^"\\\n]|\\.)*")"""
    r"""|(?P<char>(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+')"""
    r"""|(?P<line>^[ \t]*\#(?:[^\n\\]|\\.|\\\n)*)""",
    re.DOTALL | re.MULTILINE | re.VERBOSE)


def blank(text):
    return re.sub(r"[^\n]", " ", text)


def mask(text):
    """The text without comments and directives, and the same without what stands between quotes. Offsets stay."""
    def without_comments(match):
        return match[0] if match["raw"] or match["text"] or match["char"] else blank(match[0])

    def without_strings(match):
        if match["raw"] or match["text"] or match["char"]:
            return match[0][0] + re.sub(r"[^\n]", "$", match[0][1:-1]) + match[0][-1]
        return blank(match[0])
    return TOKENS.sub(without_comments, text), TOKENS.sub(without_strings, text)


def brace_kind(code, at, frame):
    """What the '{' at this offset opens: "init", "class", "space" or "block"."""
    before = code[:at].rstrip()
    if frame.kind == "init" or not before:
        return "init"
    touches = len(before) == at and (before[-1].isalnum() or before[-1] in "_>:")
    word = re.search(r"\w*$", before)[0]
    if touches or before[-1] in "=,(<?&|+-*/" or word == "return":
        return "init"
    if frame.kind in SCOPES:
        header = code[frame.start:at]
        found = re.match(r"\s*(?:template\s*<[^{;]*>\s*)?(?:\w+:\s*)?(class|struct|union|enum|namespace|extern)\b", header)
        if found and before[-1] != ")":
            return {"enum": "init", "namespace": "space", "extern": "space"}.get(found[1], "class")
    return "block"


def statements(code):
    """The statements of masked text, inner ones included; none where braces do not match."""
    found = []
    stack = [Frame("space", 0)]
    for at, char in enumerate(code):
        top = stack[-1]
        if char in "([":
            stack.append(Frame(char, at))
        elif char in ")]":
            if top.kind not in ("(", "["):
                return []
            stack.pop()
        elif char == "{":
            kind = brace_kind(code, at, top)
            constant = any(frame.constant for frame in stack)
            if kind != "init" and top.kind in SCOPES:
                found.append(Statement(top.start, at, top.kind, constant, True, top.blocks))
                constant |= bool(re.search(r"\bconst(expr|eval)\b", code[top.start:at]))
            elif kind != "init":
                next(f for f in reversed(stack) if f.kind in SCOPES).blocks = True
            stack.append(Frame(kind, at + 1, constant))
        elif char == "}":
            if len(stack) < 2 or top.kind in ("(", "["):
                return []
            stack.pop()
            if top.kind != "init" and stack[-1].kind in SCOPES:
                stack[-1].start, stack[-1].blocks = at + 1, False
        elif char == ";" and top.kind in SCOPES:
            found.append(Statement(top.start, at, top.kind, any(f.constant for f in stack), False, top.blocks))
            top.start, top.blocks = at + 1, False
    return found if len(stack) == 1 else []


def closing(code, at):
    """The offset of the bracket that closes the one at this offset."""
    depth = 0
    for i in range(at, len(code)):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0:
            return i
    raise ValueError("brackets do not match")


def split(code, start, end, separator):
    """Offsets of the separator between start and end, outside of brackets."""
    found, depth = [], 0
    for i in range(start, end):
        depth += (code[i] in "([{") - (code[i] in ")]}")
        if depth == 0 and code.startswith(separator, i):
            found.append(i)
    return found
