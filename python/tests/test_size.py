"""The sizes that docs/scale-out.md states: lines with code, without comments and docstrings."""

import ast
import re
from pathlib import Path

from test_extras import PARTS

import sa2va_lab

PACKAGE = Path(sa2va_lab.__file__).parent
TEXT = (PACKAGE.parents[1] / "docs" / "scale-out.md").read_text(encoding="utf-8")


def lines_of(path: Path) -> int:
    """Lines of a file that hold code."""
    source = path.read_text(encoding="utf-8")
    texts = set[int]()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            texts |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines = [line.strip() for line in source.split("\n")]
    return sum(1 for at, line in enumerate(lines, 1) if line and not line.startswith("#") and at not in texts)


def test_the_sizes_in_the_docs_are_those_of_the_files() -> None:
    sizes = {path.relative_to(PACKAGE).with_suffix("").as_posix(): lines_of(path) for path in PACKAGE.rglob("*.py")}
    generated = sizes.pop("table")
    extras = {part: sum(size for name, size in sizes.items() if name.split("/")[0] == part) for part in PARTS}
    core = {name: size for name, size in sizes.items() if name.split("/")[0] not in PARTS and "__init__" not in name}
    stated = {name: int(size) for name, size in re.findall(r"`([a-z_/0-9]+)` (\d+)", TEXT.partition("## Size")[2])}
    assert stated == core | extras
    starts = [name for name in sizes if name.split("/")[0] not in PARTS and name.endswith("__init__")]
    whole, outside = sum(core.values()) + sum(sizes[name] for name in starts), sum(extras.values())
    assert f"{whole + outside:,} lines of code and {generated} generated ones" in TEXT
    assert re.search(rf"The core has {whole:,}; the extras, which it\s+does not import, {outside:,}:", TEXT)
