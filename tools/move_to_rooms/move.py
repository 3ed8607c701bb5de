# ruff: noqa
"""Move and merge modules of nlgauge by a table, rewriting every import. Needs libcst.

usage: move.py REPO MAPPING
MAPPING lines:   new.module <- old.module old.module ...     (names without "nlgauge.")
                 new.package/ <- old.package                 (an __init__ that keeps its text)
                 drop old.package                            (an __init__ without code: deleted)
                 rename old.module:Name New                  (a public name that clashes)
                 # comment
Modules that are not named stay where they are.
"""

import ast, os, re, subprocess, sys
from collections import defaultdict
from pathlib import Path
import libcst as cst
from libcst.metadata import MetadataWrapper, ScopeProvider, GlobalScope

REPO, MAPPING = Path(sys.argv[1]).resolve(), Path(sys.argv[2])
SRC = REPO / "src"
ROOT = SRC / "nlgauge"
PKG = "nlgauge"


def modname(path):
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


FILES = {modname(p): p for p in sorted(ROOT.rglob("*.py"))}
IS_INIT = {m for m, p in FILES.items() if p.name == "__init__.py"}
TEXT = {m: p.read_text(encoding="utf-8") for m, p in FILES.items()}
TREE = {m: ast.parse(t) for m, t in TEXT.items()}

# ---- mapping
TARGET, SOURCES, DROP, RENAME, INITS = {}, {}, set(), {}, {}
for line in MAPPING.read_text().splitlines():
    line = line.partition("#")[0].strip()
    if not line:
        continue
    if line.startswith("drop "):
        DROP |= {f"{PKG}.{x}" for x in line.split()[1:]}
        continue
    if line.startswith("rename "):
        _, what, new = line.split()
        mod, name = what.split(":")
        RENAME[(f"{PKG}.{mod}", name)] = new
        continue
    new, _, olds = line.partition("<-")
    new = new.strip()
    olds = [f"{PKG}.{x}" for x in olds.split()]
    if new.endswith("/"):
        new = f"{PKG}.{new[:-1]}"
        assert len(olds) == 1 and olds[0] in IS_INIT, line
        INITS[new] = olds[0]
        TARGET[olds[0]] = new
        continue
    new = f"{PKG}.{new}"
    assert new not in SOURCES, f"twice: {new}"
    for o in olds:
        assert o in FILES, f"no module {o}"
        assert o not in TARGET, f"{o} is mapped twice"
        TARGET[o] = new
    SOURCES[new] = olds
for m in FILES:
    if m not in TARGET and m not in DROP:
        TARGET[m] = m
        if m in IS_INIT:
            INITS[m] = m
        else:
            if m in SOURCES:
                SOURCES[m].append(m)
            else:
                SOURCES[m] = [m]


# ---- what modules bind
def bound(node):
    """Names bound by a top-level statement that is not an import."""
    out = []
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        out.append(node.name)
    elif isinstance(node, ast.Assign):
        for t in node.targets:
            out += [n.id for n in ast.walk(t) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign)):
        if isinstance(node.target, ast.Name):
            out.append(node.target.id)
    elif isinstance(node, (ast.If, ast.Try, ast.With, ast.For)):
        for sub in ast.iter_child_nodes(node):
            if isinstance(sub, ast.stmt):
                out += bound(sub)
            if isinstance(sub, ast.ExceptHandler):
                for s in sub.body:
                    out += bound(s)
        if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
            out.append(node.target.id)
    return out


def is_type_checking(node):
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING")
        and all(isinstance(s, (ast.Import, ast.ImportFrom)) for s in node.body)
        and not node.orelse
    )


DEFS, IMPORTS, TYPE_ONLY = {}, {}, defaultdict(set)
for m, tree in TREE.items():
    DEFS[m], IMPORTS[m] = set(), {}
    for node in tree.body:
        DEFS[m] |= set(bound(node)) - {"__all__"}
        nodes = (
            [node]
            if isinstance(node, (ast.Import, ast.ImportFrom))
            else (node.body if is_type_checking(node) else [])
        )
        for n in nodes:
            for a in n.names:
                if n is not node:
                    TYPE_ONLY[m].add(a.asname or a.name)
                if isinstance(n, ast.ImportFrom):
                    IMPORTS[m][a.asname or a.name] = (n.module, a.name)
                else:
                    IMPORTS[m][a.asname or a.name.partition(".")[0]] = (a.name, None)


def resolve(module, name, depth=0):
    """('module', m) or ('name', defining module, name) or None for what is not nlgauge's."""
    if module not in FILES:
        return None
    if name in DEFS[module]:
        return ("name", module, name)
    if name in IMPORTS[module]:
        mod, orig = IMPORTS[module][name]
        if mod and mod.split(".")[0] == PKG and depth < 10:
            if orig is None:
                return ("module", mod)
            return resolve(mod, orig, depth + 1)
        if f"{module}.{name}" in FILES and module in IS_INIT:
            return ("module", f"{module}.{name}")
        return ("foreign", module, name)
    if f"{module}.{name}" in FILES:
        return ("module", f"{module}.{name}")
    return ("name", module, name)


def new_of(module):
    if module in TARGET:
        return TARGET[module]
    raise SystemExit(f"dropped module is used as a module: {module}")


# ---- renames for names that clash in one target
LOCAL_RENAME = defaultdict(dict)  # module -> {old name: new name} of definitions
IMPORT_RENAME = defaultdict(dict)  # module -> {bound name: new alias}
DROP_DEF = defaultdict(set)  # definitions that stand in an earlier module, letter for letter
for (m, name), new in RENAME.items():
    LOCAL_RENAME[m][name] = new
problems = []


def order(target):
    """Sources so that what a module needs at load time comes first."""
    olds = SOURCES[target]
    need = {
        m: {
            r[1]
            for bound_name, (mod, orig) in IMPORTS[m].items()
            if bound_name not in TYPE_ONLY[m]
            and mod
            and orig
            and (r := resolve(mod, orig))
            and r[0] == "name"
            and r[1] in olds
            and r[1] != m
        }
        for m in olds
    }
    out = []

    def visit(m, trail=()):
        if m in out:
            return
        if m in trail:
            problems.append(f"cycle in {target}: {' -> '.join(trail + (m,))}")
            return
        for x in olds:
            if x in need[m]:
                visit(x, trail + (m,))
        out.append(m)

    for m in olds:
        visit(m)
    return out


for target in SOURCES:
    SOURCES[target] = order(target)


def def_source(m, name):
    for node in TREE[m].body:
        if name in bound(node):
            value = (
                node.value
                if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) == "TypeAlias"
                else node.value
                if isinstance(node, ast.Assign)
                else node
            )
            return ast.dump(value) if value is not None else ast.dump(node), node
    return None, None


for target, olds in SOURCES.items():
    if len(olds) < 2:
        continue
    owner = {}  # name -> what it is
    alldefs = {d for o in olds for d in DEFS[o]}
    for m in olds:
        short = m.split(".")[-1]
        for name in sorted(DEFS[m]):
            new = LOCAL_RENAME[m].get(name, name)
            what = ("name", m, name)
            if new in owner and owner[new] != what:
                dump, _ = def_source(m, name)
                if (
                    owner[new][0] == "name"
                    and def_source(owner[new][1], owner[new][2])[0] == dump
                    and dump is not None
                ):
                    DROP_DEF[m].add(name)
                    continue
                if not name.startswith("_"):
                    problems.append(f"{target}: public {name} of {m} clashes with {owner[new]}")
                    continue
                base = f"_{short}{name}" if not name.isupper() else f"_{short.upper()}{name}"
                LOCAL_RENAME[m][name] = new = base
            owner[new] = what
    for m in olds:
        for name, (mod, orig) in IMPORTS[m].items():
            r = resolve(mod, orig) if mod and orig and mod.split(".")[0] == PKG else None
            if r and r[0] == "name" and r[1] in olds:
                continue  # becomes local
            what = ("import",) + (r if r else (mod, orig))
            if r and r[0] == "module":
                what = ("import", "module", new_of(r[1]))
            if name in owner and owner[name] != what:
                if mod == "__future__":
                    continue
                alias = (
                    f"{name}_of_{mod.split('.')[-1]}" if not name.startswith("_") else f"_{mod.split('.')[-1]}{name}"
                )
                IMPORT_RENAME[m][name] = alias
                print(f"note: {target}: import {name} of {m} becomes {alias}")
            else:
                owner[name] = what
if problems:
    print("\n".join(problems))
    sys.exit(1)


# ---- renaming inside a module, aware of scopes
def renamed_text(m):
    renames = dict(LOCAL_RENAME[m]) | IMPORT_RENAME[m]
    # an imported name whose definition was renamed, and which becomes local or is imported under its new name
    for name, (mod, orig) in IMPORTS[m].items():
        if mod and orig and mod.split(".")[0] == PKG:
            r = resolve(mod, orig)
            if r and r[0] == "name":
                new = LOCAL_RENAME[r[1]].get(r[2], r[2])
                same_file = TARGET.get(r[1]) == TARGET.get(m) and m not in INITS.values()
                if same_file and name != new:
                    renames[name] = new
                elif not same_file and name == orig and new != orig and (r[1], r[2]) in RENAME:
                    renames[name] = new
    if not renames:
        return TEXT[m]
    wrapper = MetadataWrapper(cst.parse_module(TEXT[m]))
    scopes = set(wrapper.resolve(ScopeProvider).values())
    nodes = {}
    for scope in scopes:
        if not isinstance(scope, GlobalScope):
            continue
        for name, new in renames.items():
            for assignment in scope[name]:
                for access in assignment.references:
                    node = access.node
                    if isinstance(node, cst.Attribute):
                        while isinstance(node, cst.Attribute):
                            node = node.value
                    nodes[node] = new

    class R(cst.CSTTransformer):
        def leave_Name(self, o, u):
            return u.with_changes(value=nodes[o]) if o in nodes else u

        def leave_FunctionDef(self, o, u):
            n = o.name.value
            return u.with_changes(name=cst.Name(LOCAL_RENAME[m][n])) if o in tops and n in LOCAL_RENAME[m] else u

        def leave_ClassDef(self, o, u):
            n = o.name.value
            return u.with_changes(name=cst.Name(LOCAL_RENAME[m][n])) if o in tops and n in LOCAL_RENAME[m] else u

    tops = set()

    def collect(body):
        for st in body:
            if isinstance(st, (cst.FunctionDef, cst.ClassDef)):
                tops.add(st)
            elif isinstance(st, (cst.If, cst.Try)):
                collect(st.body.body)
            elif isinstance(st, cst.SimpleStatementLine):
                for s in st.body:
                    targets = (
                        [t.target for t in s.targets]
                        if isinstance(s, cst.Assign)
                        else [s.target]
                        if isinstance(s, (cst.AnnAssign, cst.AugAssign))
                        else []
                    )
                    for t in targets:
                        for x in (
                            [t]
                            if isinstance(t, cst.Name)
                            else [e.value for e in t.elements]
                            if isinstance(t, cst.Tuple)
                            else []
                        ):
                            if isinstance(x, cst.Name) and x.value in LOCAL_RENAME[m]:
                                nodes[x] = LOCAL_RENAME[m][x.value]

    collect(wrapper.module.body)
    return wrapper.module.visit(R()).code


# ---- import statements in their new form
def new_imports(node, here, module=None):
    """[(module or None, name, asname)] of a from-import of nlgauge; names that are local to `here` are left out."""
    out = []
    for a in node.names:
        r = resolve(node.module, a.name)
        name = a.asname or a.name
        if module and name in IMPORT_RENAME.get(module, {}):
            name = IMPORT_RENAME[module][name]
        if r is None or r[0] == "foreign" and node.module == PKG:
            out.append((node.module, a.name, a.asname))
            continue
        if r[0] == "foreign":
            mod, orig = IMPORTS[r[1]][r[2]]
            if node.module in INITS.values() or node.module in DROP or True:
                out.append((TARGET.get(node.module, node.module), a.name, a.asname))
                continue
        if r[0] == "module":
            if r[1] == PKG or node.module == PKG and r[1] not in TARGET:
                out.append((node.module, a.name, a.asname))
                continue
            new = new_of(r[1])
            parent, _, last = new.rpartition(".")
            out.append((parent, last, name if name != last else None))
            continue
        _, mod, orig = r
        if mod == PKG:
            out.append((PKG, a.name, a.asname))
            continue
        new = LOCAL_RENAME[mod].get(orig, orig)
        target = new_of(mod)
        if name == orig and new != orig:
            name = new if (mod, orig) in RENAME or (module and TARGET.get(module) == target) else name
        if target == here:
            continue
        # A public package keeps its front door for whoever is outside of it.
        out.append((target, new, name if name != new else None))
    return out


def render(items):
    by = defaultdict(list)
    for mod, name, asname in items:
        by[mod].append(f"{name} as {asname}" if asname else name)
    return [f"from {mod} import {', '.join(dict.fromkeys(names))}" for mod, names in by.items()]


def edit(text, edits):
    """Replace (line, col, end line, end col) by texts."""
    lines = text.splitlines(keepends=True)
    starts = [0]
    for l in lines:
        starts.append(starts[-1] + len(l.encode()))
    raw = text.encode()
    for (l, c, el, ec), new in sorted(edits, reverse=True):
        raw = raw[: starts[l - 1] + c] + new.encode() + raw[starts[el - 1] + ec :]
    return raw.decode()


DOTTED = re.compile(r"(?<![\w.])nlgauge((?:\.[A-Za-z_]\w*)+)")


def dotted(match):
    """A dotted path in a string, a comment or a page."""
    parts = [PKG, *match[1][1:].split(".")]
    for n in range(len(parts), 1, -1):
        mod = ".".join(parts[:n])
        if mod in FILES:
            rest = parts[n:]
            if rest:
                r = resolve(mod, rest[0])
                if r and r[0] == "name" and r[1] in TARGET and (mod in DROP or r[1] != mod and mod not in TARGET):
                    return ".".join([TARGET[r[1]], LOCAL_RENAME[r[1]].get(rest[0], rest[0]), *rest[1:]])
                if r and r[0] == "name" and r[1] == mod and rest[0] in LOCAL_RENAME[mod]:
                    rest = [LOCAL_RENAME[mod][rest[0]], *rest[1:]]
            if mod not in TARGET:
                return match[0]
            return ".".join([TARGET[mod], *rest])
    return match[0]


def rewrite_file(text, here=None, module=None):
    """A file that is not merged: its imports, dotted attributes and strings."""
    tree = ast.parse(text)
    edits, skip = [], []
    parents = {}
    for node in ast.walk(tree):
        for field in ("body", "orelse", "finalbody"):
            for child in getattr(node, field, []) if isinstance(getattr(node, field, None), list) else []:
                parents[child] = getattr(node, field)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == PKG:
            items = new_imports(node, here, module)
            old = ast.get_source_segment(text, node)
            same = [(node.module, a.name, a.asname) for a in node.names]
            if items == same:
                continue
            out = render(items)
            ind = " " * node.col_offset
            if not out:
                new = "pass" if len(parents.get(node, [1, 2])) == 1 else "_GONE_"
            else:
                new = ("\n" + ind).join(out)
            edits.append(((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset), new))
        elif isinstance(node, ast.Import):
            names = []
            for a in node.names:
                if a.name.split(".")[0] == PKG and a.name in FILES and a.name != PKG:
                    names.append(TARGET.get(a.name, a.name) + (f" as {a.asname}" if a.asname else ""))
                else:
                    names.append(a.name + (f" as {a.asname}" if a.asname else ""))
            new = "import " + ", ".join(names)
            if new != ast.get_source_segment(text, node):
                edits.append(((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset), new))
        elif isinstance(node, ast.Attribute):
            src = ast.get_source_segment(text, node) or ""
            if re.fullmatch(r"nlgauge(\.\w+)+", src):
                new = DOTTED.sub(dotted, src)
                if new != src and not any(s[0] <= (node.lineno, node.col_offset) < s[1] for s in skip):
                    edits.append(((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset), new))
                    skip.append(((node.lineno, node.col_offset), (node.end_lineno, node.end_col_offset)))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and "nlgauge." in node.value:
            src = ast.get_source_segment(text, node)
            if src:
                new = DOTTED.sub(dotted, src)
                if new != src:
                    edits.append(((node.lineno, node.col_offset, node.end_lineno, node.end_col_offset), new))
    # f-strings: parts share positions on 3.11, so the edits may repeat
    return re.sub(
        r"^[ ]*_GONE_(?:[ ]*#[^\n]*)?\n", "", edit(text, list({e[0]: e for e in edits}.values())), flags=re.M
    )


def tidy_ellipsis(text):
    return re.sub(r"^[ ]*\.\.\.(?P<c>[ ]*#[^\n]*)?\n", "", text, flags=re.M) if False else text


# ---- merged modules
def pieces(m):
    text = renamed_text(m)
    tree = ast.parse(text)
    doc, names = None, []
    cut, imports = [], []
    for i, node in enumerate(tree.body):
        span = (node.lineno, node.end_lineno)
        if (
            i == 0
            and isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            doc = ast.get_source_segment(text, node)
            cut.append(span)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            cut.append(span)
            imports.append((node, False, span))
        elif is_type_checking(node):
            cut.append(span)
            imports += [(n, True, (n.lineno, n.end_lineno)) for n in node.body]
        elif isinstance(node, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == "__all__" for t in node.targets
        ):
            names = ast.literal_eval(node.value) if isinstance(node.value, (ast.List, ast.Tuple)) else None
            assert names is not None, m
            cut.append(span)
        elif any(n in DROP_DEF[m] for n in bound(node)):
            cut.append(span)
    lines = text.splitlines(keepends=True)
    gone = {l for a, b in cut for l in range(a, b + 1)}
    # a comment directly above an import or a dropped definition goes along with it
    body = "".join("" if k in gone else l for k, l in enumerate(lines, 1))
    comments = {}
    for node, _, (a, b) in imports:
        c = [re.search(r"#.*$", lines[k - 1]) for k in range(a, b + 1)]
        c = [x[0] for x in c if x]
        if c:
            comments[id(node)] = c
    return text, doc, imports, names, body, comments


def body_rewrite(body, m, here):
    tree = ast.parse(body)
    return rewrite_file(body, here=here, module=m)


def merge(target):
    olds = SOURCES[target]
    docs, runtime, typing_only, foreign, exported, bodies = [], [], [], {}, [], []
    raw_foreign = []
    for m in olds:
        text, doc, imports, names, body, comments = pieces(m)
        docs.append((m, doc))
        exported += [LOCAL_RENAME[m].get(n, n) for n in names if n not in DROP_DEF[m]]
        for node, only, _ in imports:
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                continue
            tail = "  " + " ".join(comments[id(node)]) if id(node) in comments else ""
            if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == PKG:
                # the text has been renamed already, so resolve by the names of the old tree
                items = []
                for a in node.names:
                    old_name = a.name
                    items.append(a)
                got = new_imports(node, target, m)
                for item in got:
                    (typing_only if only else runtime).append((item, tail))
            else:
                for a in node.names:
                    if isinstance(node, ast.ImportFrom):
                        alias = a.asname
                        bound_name = a.asname or a.name
                        if bound_name in IMPORT_RENAME[m]:
                            alias = IMPORT_RENAME[m][bound_name]
                        stmt = f"from {node.module} import {a.name}" + (f" as {alias}" if alias else "")
                    else:
                        stmt = f"import {a.name}" + (f" as {a.asname}" if a.asname else "")
                    raw_foreign.append((stmt, only, tail))
        bodies.append(body_rewrite(body.strip("\n") + "\n", m, target))
    head = []
    main = docs[0][1] if len(olds) == 1 else None
    if len(olds) > 1:
        parts = [re.sub(r'^[rRuU]*("""|\'\'\')|("""|\'\'\')$', "", d).strip() for _, d in docs if d]
        raw = any(d and d[0] in "rR" for _, d in docs)
        main = (
            ("r" if raw else "")
            + '"""'
            + "\n\n".join(parts)
            + ('\n"""' if len(parts) > 1 or "\n" in parts[0] else '"""')
        )
    if main:
        head.append(main + "\n")
    if any("from __future__ import annotations" in TEXT[m] for m in olds):
        head.append("from __future__ import annotations\n")
    rt = {i for i, _ in runtime}
    lines = []
    seen = set()
    for (mod, name, asname), tail in runtime:
        s = f"from {mod} import {name}" + (f" as {asname}" if asname else "")
        if s not in seen:
            seen.add(s)
            lines.append(s + tail)
    for s, only, tail in raw_foreign:
        if not only and s not in seen:
            seen.add(s)
            lines.append(s + tail)
    tlines = []
    for (mod, name, asname), tail in typing_only:
        s = f"from {mod} import {name}" + (f" as {asname}" if asname else "")
        if s not in seen:
            seen.add(s)
            tlines.append("    " + s + tail)
    for s, only, tail in raw_foreign:
        if only and s not in seen:
            seen.add(s)
            tlines.append("    " + s + tail)
    head.append("\n".join(lines))
    if tlines:
        head.append("if TYPE_CHECKING:\n" + "\n".join(tlines))
    if exported:
        head.append("__all__ = [\n" + "".join(f'    "{n}",\n' for n in sorted(set(exported))) + "]\n")
    return "\n\n".join(head) + "\n\n" + "\n\n".join(bodies)


def path_of(module, init=False):
    p = SRC / Path(*module.split("."))
    return p / "__init__.py" if init else p.with_suffix(".py")


out = {}
for target, olds in SOURCES.items():
    if len(olds) == 1:
        m = olds[0]
        out[path_of(target)] = rewrite_file(renamed_text(m), here=target, module=m)
    else:
        out[path_of(target)] = merge(target)
for new, old in INITS.items():
    out[path_of(new, init=True)] = rewrite_file(TEXT[old], here=None, module=old)

others = [p for top in ("tests", "benchmarks", "docs", "examples") for p in sorted((REPO / top).rglob("*.py"))]
for p in others:
    t = p.read_text(encoding="utf-8")
    if "nlgauge" in t:
        new = rewrite_file(t)
        if new != t:
            out[p] = new

# ---- write
moves = {}
for old, p in FILES.items():
    if old in DROP:
        p.unlink()
    elif old in INITS.values():
        moves[p] = path_of(TARGET[old], init=True)
    else:
        moves[p] = path_of(TARGET[old])
for p, new in moves.items():
    if p != new and p.exists():
        p.unlink()
for p, t in out.items():
    p.parent.mkdir(parents=True, exist_ok=True)
    p.write_text(t, encoding="utf-8")
# data files of packages
pk = {old: TARGET[old] for old in IS_INIT if old in TARGET}
for line in MAPPING.with_suffix(".data").read_text().splitlines() if MAPPING.with_suffix(".data").exists() else []:
    a, _, b = line.partition("->")
    a, b = ROOT / a.strip(), ROOT / b.strip()
    if a.exists():
        b.parent.mkdir(parents=True, exist_ok=True)
        a.rename(b)
# packages need a front door
for folder in sorted({p.parent for p in ROOT.rglob("*.py")}):
    f = folder
    while f != ROOT:
        if not (f / "__init__.py").exists():
            (f / "__init__.py").write_text('""""""\n')
        f = f.parent
for folder in sorted((x for x in ROOT.rglob("*") if x.is_dir()), reverse=True):
    if not any(folder.iterdir()):
        folder.rmdir()
    elif all(x.name == "__pycache__" for x in folder.iterdir()):
        import shutil

        shutil.rmtree(folder)
# pages: dotted paths and paths of files
paths = {
    str(FILES[m].relative_to(ROOT)): str(path_of(TARGET[m], init=m in INITS.values()).relative_to(ROOT))
    for m in FILES
    if m in TARGET
}
pages = [
    p
    for pat in (
        "*.md",
        "docs/**/*.md",
        "examples/**/*.md",
        "benchmarks/*.md",
        "*.toml",
        "Makefile",
        ".github/**/*.yml",
        "deploy/*",
        "action.yml",
    )
    for p in REPO.glob(pat)
    if p.name != "CHANGELOG.md"
]
rx = re.compile(r"(?<![\w/])((?:src/nlgauge/)?)([a-z_]+(?:/[a-z_0-9]+)*\.py)\b")
for p in pages + list(set(out)):
    if not p.exists():
        continue
    t = p.read_text(encoding="utf-8")
    new = rx.sub(lambda k: k[1] + paths[k[2]] if k[2] in paths and "/" in k[2] else k[0], t)
    if p.suffix != ".py":
        new = DOTTED.sub(dotted, new)
    if new != t:
        p.write_text(new, encoding="utf-8")
print(
    len(list(ROOT.rglob("*.py"))), "files,", sum(len(p.read_text().splitlines()) for p in ROOT.rglob("*.py")), "lines"
)
