"""Functions of the library have at most 80 lines, and its files and those of the tests at most 400.

usage: lengths.py SOURCE_ROOT    names each longer function and file
       lengths.py --self-check   plants longer ones and looks for them

A function counts from its first line, `template` included, to its closing brace. Lambdas and local classes count as
parts of the function around them. It goes by braces: a parser would need the compiler's options, and nvcc for CUDA.
"""

import os
import re
import sys
import tempfile

MOST_FUNCTION_LINES = 80
MOST_FILE_LINES = 400
LIBRARY = ("include", "base", "tiles", "kernels", "runtime", "schedulers", "tasks", "io", "tuner", "apps", "capi", "lapack")
ENDINGS = (".hpp", ".cpp", ".cuh", ".cu", ".h", ".c")

# Comments, strings, characters and directives, which may all hold braces. A ' between digits is none of these.
SKIPPED = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"(?P<mark>[^()\\\s]*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"|'
    r"(?<![0-9a-fA-F])'(?:\\.|[^'\\\n])+'|(?m:^)[ \t]*#(?:\\\n|[^\n])*",
    re.DOTALL)
TYPE = re.compile(r"((inline )?namespace|class|struct|union|enum)\b[^(:]*(:|$)|extern\s+\"\s*\"$")
WORD = re.compile(r"^(typedef|static|constexpr|inline|const)\s+")
ATTRIBUTE = re.compile(r"\b(__launch_bounds__|__attribute__|alignas)\s*\((?:[^()]|\([^()]*\)|\(\([^()]*\)\))*\)")
# What a brace stands behind that begins no body: a value, an argument, or a name whose value it is.
VALUE = re.compile(r"(=|,|\(|\breturn|\?|<|&&|\|\|)$")
NAME_IN_INITIALISERS = re.compile(r"\)\s*(noexcept\s*)?:[^:].*[\w>]$", re.DOTALL)
NAME = re.compile(r"(\w+)\s*\(")


def without_comments(text):
    """The same lines; what is skipped becomes blanks, but strings keep their quotes."""
    def blank(found):
        inside = re.sub(r"[^\n]", " ", found[0])
        return '"' + inside[2:] + '"' if found[0][0] in "\"R" else inside
    return SKIPPED.sub(blank, text)


def bare(head):
    """A declaration behind its `template <...>`, and without attributes."""
    head = ATTRIBUTE.sub("", head).strip()
    while head.startswith("template"):
        depth, at = 0, head.find("<")
        for at in range(at, len(head)):
            depth += {"<": 1, ">": -1}.get(head[at], 0)
            if depth == 0:
                break
        head = head[at + 1:].strip()
    return head


def kind_of(head):
    """What a brace behind that text opens: a scope with declarations, the body of a function, or a value."""
    declared = bare(head)
    unbalanced = declared.count("(") != declared.count(")")
    if unbalanced or VALUE.search(declared) or NAME_IN_INITIALISERS.search(declared):
        return "value"
    if TYPE.match(WORD.sub("", declared)):
        return "scope"
    return "body" if re.search(r"[)\]]", declared) else "value"


def functions(text):
    """(first line, name, lines) of each function with a body."""
    text = without_comments(text)
    begin = 0   # of the declaration that is being read
    depth = 0   # of braces that are not scopes
    body = None
    scopes = []
    for brace in re.finditer(r"[{};]", text):
        at = brace.start()
        if brace[0] == "{":
            if depth > 0:
                depth += 1
                continue
            head = text[begin:at]
            kind = kind_of(head)
            if kind == "scope":
                scopes.append(at)
                begin = at + 1
                continue
            depth = 1
            body = (begin, head) if kind == "body" else None
        elif brace[0] == "}":
            if depth == 0:
                begin = at + 1
                if not scopes:
                    raise ValueError(f"line {text.count(chr(10), 0, at) + 1}: a brace too many")
                scopes.pop()
                continue
            depth -= 1
            if depth == 0 and body is not None:
                start, head = body
                start += len(head) - len(head.lstrip())
                named = NAME.search(bare(head))
                yield text.count("\n", 0, start) + 1, named[1] if named else "?", text.count("\n", start, at) + 1
                begin = at + 1
        elif depth == 0 and text.count("(", begin, at) == text.count(")", begin, at):
            begin = at + 1
    if depth or scopes:
        raise ValueError("a brace is missing")


def source_files(root, folders):
    for folder in folders:
        for directory, inner, names in os.walk(os.path.join(root, folder)):
            inner.sort()
            for name in sorted(names):
                if name.endswith(ENDINGS):
                    yield os.path.join(directory, name)


def complaints(root):
    for path in source_files(root, (*LIBRARY, "tests")):
        name = os.path.relpath(path, root)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        lines = text.count("\n")
        if lines > MOST_FILE_LINES:
            yield f"{name}: {lines} lines; allowed are {MOST_FILE_LINES}"
        if name.startswith("tests" + os.sep):
            continue
        try:
            found = list(functions(text))
        except ValueError as error:
            yield f"{name}: {error}"
            continue
        for line, function, lines in found:
            if lines > MOST_FUNCTION_LINES:
                yield f"{name}:{line}: {function}() has {lines} lines; allowed are {MOST_FUNCTION_LINES}"


def filled(before, after, lines):
    """Text of that number of lines from the first of `before` to the last of `after`."""
    fill = lines - before.count("\n") - after.count("\n") - 1
    return before + "\n".join(f"    step({i});  // }}" for i in range(fill)) + "\n" * (fill > 0) + after + "\n"


# A function of any length, and the name that is reported.
SHAPES = (
    ("f", "int f(int a) {\n", "}"),
    ("f", "template <class T>\nvoid f(const std::vector<T>& a,\n       T b = {}) noexcept {\n", "}"),
    ("f", "void C::f(A a) const {\n    const auto inner = [&](int i) {\n        return i;\n    };\n", "}"),
    ("C", "C::C(A a) : B{a}, x_{1},\n    y_(2) {\n", "}"),
    ("kernel", "template <int n>\n__global__ void __launch_bounds__(128, 1)\n    kernel(View<float> a) {\n#if A\n", "#endif\n}"),
    ("f", "auto f() -> std::optional<int> {\n    const char brace = '}', *text = \"}\", *raw = R\"x(}})x\";\n", "}"),
    ("?", "constexpr auto table = [] {\n", "}();"),
    ("operator", "bool operator()(int a) const override {\n    return 1'000'000 < a;\n", "}"),
    ("f", "static struct stat f() {\n", "}"),
)


def found_in(files):
    """What is reported in a tree of these files, by path."""
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                file.write(text)
        return list(complaints(root))


def self_check():
    failures = []
    around = (("", ""), ("namespace a {\nclass A final : public B {\n  public:\n    struct C { int x = 0; };\n", "};\n}\n"))
    for name, before, after in SHAPES:
        for path in ("base/a.hpp", "kernels/cuda/x/a.cu", "runtime/a.cpp"):
            for outside, behind in around:
                longest = outside + filled(before, after, MOST_FUNCTION_LINES) + behind
                longer = outside + filled(before, after, MOST_FUNCTION_LINES + 1) + behind
                if found_in({path: longest}):
                    failures.append(f"wrongly reported: {longest}")
                first = outside.count("\n") + 1
                expected = f"{path}:{first}: {name}() has {MOST_FUNCTION_LINES + 1} lines"
                if not any(line.startswith(expected) for line in found_in({path: longer})):
                    failures.append(f"missed: {expected}: {found_in({path: longer})}")
    many = "int x;\n" * MOST_FILE_LINES
    quiet = {
        "base/a.cpp": many,
        "tests/a.cpp": filled("TEST_CASE(\"a\") {\n", "}", 200),
        "bench/a.cpp": filled("int f() {\n", "}", 500),
        "io/table.cpp": "constexpr int table[] = {\n" + "    1,\n" * 200 + "};\n",
        "io/class.hpp": "class A {\n" + "    void f(int i = 1) { g({i}); }\n" * 200 + "};\n",
    }
    failures += [f"wrongly reported: {line}" for line in found_in(quiet)]
    for path in ("base/a.cpp", "lapack/abi/a.h", "tests/x/a.hpp"):
        if found_in({path: many + "\n"}) != [f"{path}: {MOST_FILE_LINES + 1} lines; allowed are {MOST_FILE_LINES}"]:
            failures.append(f"missed: {path}: {MOST_FILE_LINES + 1} lines")
    return failures


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    found = self_check() if sys.argv[1] == "--self-check" else list(complaints(sys.argv[1]))
    print("\n".join(found) if found else "no function and no file is too long")
    sys.exit(1 if found else 0)


main()
