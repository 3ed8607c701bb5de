# ruff: noqa
"""Import cycles, and imports against the order of rooms: graph.py REPOSITORY."""

import ast, sys
from pathlib import Path

root = Path(sys.argv[1]) / "src"
files = {
    ".".join(p.relative_to(root).with_suffix("").parts).removesuffix(".__init__"): p
    for p in sorted((root / "nlgauge").rglob("*.py"))
}
ORDER = [
    "_version",
    "_startup",
    "errors",
    "old_names",
    "io",
    "stats",
    "text",
    "encoders",
    "vectors",
    "core",
    "metrics",
    "testing",
    "plugin",
    "data",
    "studies",
    "report",
    "apps",
]


def top(tree):
    for n in tree.body:
        if isinstance(n, (ast.Import, ast.ImportFrom)):
            yield n
        elif isinstance(n, ast.Try):
            yield from (x for x in n.body if isinstance(x, (ast.Import, ast.ImportFrom)))


def targets(n):
    if isinstance(n, ast.ImportFrom) and n.module and n.module.startswith("nlgauge"):
        for a in n.names:
            m = f"{n.module}.{a.name}"
            yield m if m in files else n.module
    elif isinstance(n, ast.Import):
        for a in n.names:
            if a.name in files:
                yield a.name


g = {}
viol = []
for m, p in files.items():
    tree = ast.parse(p.read_text())
    g[m] = set()
    for n in top(tree):
        for t in targets(n):
            if t in files and t != m and t != "nlgauge":
                g[m].add(t)
    if m.count(".") >= 1:
        room = m.split(".")[1]
        for n in ast.walk(tree):
            for t in targets(n) if isinstance(n, (ast.Import, ast.ImportFrom)) else ():
                if t.count(".") >= 1:
                    r = t.split(".")[1]
                    if r in ORDER and room in ORDER and ORDER.index(r) > ORDER.index(room):
                        viol.append((m, t))
                    elif r not in ORDER or room not in ORDER:
                        if room not in ("__main__",):
                            viol.append((m, t, "?"))
# SCC
import itertools

sys.setrecursionlimit(10000)
idx = {}
low = {}
st = []
on = set()
c = itertools.count()
out = []


def sc(v):
    idx[v] = low[v] = next(c)
    st.append(v)
    on.add(v)
    for w in g[v]:
        if w not in idx:
            sc(w)
            low[v] = min(low[v], low[w])
        elif w in on:
            low[v] = min(low[v], idx[w])
    if low[v] == idx[v]:
        comp = []
        while True:
            w = st.pop()
            on.discard(w)
            comp.append(w)
            if w == v:
                break
        if len(comp) > 1:
            out.append(comp)


for v in g:
    if v not in idx:
        sc(v)
for comp in out:
    print("CYCLE", len(comp))
    for m in sorted(comp):
        print("   ", m, "->", sorted(x.replace("nlgauge.", "") for x in g[m] & set(comp)))
for v in sorted(set(viol)):
    print("ORDER", *[x.replace("nlgauge.", "") for x in v])
