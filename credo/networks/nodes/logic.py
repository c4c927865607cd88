"""Rules about states, such as "A and (B or not C)": parsed, and simplified as the states of variables become known."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from credo.errors import NetworkError, suggest

# Syntax that Python doesn't have: names in backquotes, and xor as an operator. Quoted text stays as it is.
NOT_PYTHON = re.compile(r"""`(?P<name>[^`]*)`|'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\bxor\b(?P<negated>\s+not\b)?""")
NO_OPERAND = re.compile(r"(^|[(,]|\b(and|or|not|xor|in))\s*$")  # before xor(A, B), which is a call


@dataclass(frozen=True)
class Test:
    """Whether a variable is in one of these states."""

    parent: int
    states: frozenset[int]


@dataclass(frozen=True)
class Grade:
    """The grade of a variable: the rank of each state among the node's grades."""

    parent: int
    grades: tuple[int, ...]


@dataclass(frozen=True)
class Between:
    """Whether at least `low` and at most `high` of the parts hold: and, or, not, at least, exactly."""

    low: int
    high: int
    parts: tuple[Rule, ...]


@dataclass(frozen=True)
class Odd:
    """Whether an odd number of the parts holds, or (flipped) an even one: xor."""

    flipped: bool
    parts: tuple[Rule, ...]


@dataclass(frozen=True)
class Count:
    """The number of parts that hold, plus a constant."""

    more: int
    parts: tuple[Rule, ...]


@dataclass(frozen=True)
class Extreme:
    """The largest of the grades (with sign -1, the smallest) and of a known grade."""

    sign: int
    known: int | None
    parts: tuple[Grade, ...]


Rule = Test | Grade | Between | Odd | Count | Extreme | bool | int


def given_state(rule: Rule, parent: int, state: int) -> Rule:
    """The rule simplified by a variable's known state."""
    match rule:
        case Test():
            return state in rule.states if rule.parent == parent else rule
        case Grade():
            return rule.grades[state] if rule.parent == parent else rule
        case Between():
            return _between(rule.low, rule.high, [given_state(part, parent, state) for part in rule.parts])
        case Odd():
            parts = [given_state(part, parent, state) for part in rule.parts]
            flipped = rule.flipped ^ (sum(part is True for part in parts) % 2 == 1)
            rest = _open(parts)
            return Odd(flipped, rest) if rest else flipped
        case Count():
            parts = [given_state(part, parent, state) for part in rule.parts]
            more, rest = rule.more + sum(part is True for part in parts), _open(parts)
            return Count(more, rest) if rest else more
        case Extreme():
            return _extreme(rule, parent, state)
    return rule


def _between(low: int, high: int, parts: Sequence[Rule]) -> Rule:
    true, rest = sum(part is True for part in parts), _open(parts)
    low, high = max(low - true, 0), min(high - true, len(rest))
    if low > high:
        return False
    return True if low == 0 and high == len(rest) else Between(low, high, rest)


def _open(parts: Sequence[Rule]) -> tuple[Rule, ...]:
    return tuple(part for part in parts if not isinstance(part, bool))


def _extreme(rule: Extreme, parent: int, state: int) -> Rule:
    parts = [given_state(part, parent, state) for part in rule.parts]
    known = [*(part for part in parts if isinstance(part, int)), *([] if rule.known is None else [rule.known])]
    best = max(known, key=lambda grade: rule.sign * grade) if known else None
    rest = tuple(part for part in parts if isinstance(part, Grade))
    if best is not None:  # grades that can't exceed the known one change nothing
        rest = tuple(each for each in rest if any(rule.sign * grade > rule.sign * best for grade in each.grades))
    return Extreme(rule.sign, best, rest) if rest else (0 if best is None else best)


@dataclass(frozen=True)
class Parser:
    """Reads rules about the parents of a node."""

    name: str  # the node's name
    parents: Sequence[str]
    true: Callable[[str], frozenset[int]]  # the affirmative states of a parent
    code: Callable[[str, Any], int]  # the index of a parent's state
    grades: Callable[[str], tuple[int, ...]]  # grades of a parent's states, for max and min

    def read(self, text: str) -> Rule:
        names: dict[str, str] = {}

        def spelt(found: re.Match[str]) -> str:
            if found["name"] is not None:
                return names.setdefault(found["name"], f"_quoted_{len(names)}_")
            if not found[0].startswith("xor") or NO_OPERAND.search(text[: found.start()]):
                return found[0]
            return "^ ~" if found["negated"] else "^"

        source = NOT_PYTHON.sub(spelt, text)
        try:
            tree = ast.parse(source.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            raise self._fault(f"can't be read: {text!r:.80}") from None
        unquoted = {own: name for name, own in names.items()}
        try:
            return self._rule(tree, unquoted)
        except RecursionError:
            raise self._fault("is nested too deep") from None

    def _fault(self, what: str) -> NetworkError:
        return NetworkError(f"the rule of {self.name!r} {what}")

    def _truth(self, tree: ast.expr, names: Mapping[str, str]) -> Rule:
        """Parse a part that is true or false."""
        found = self._rule(tree, names)
        if isinstance(found, Count | Extreme):
            raise self._fault(
                f"has {ast.unparse(tree):.60}, which is no truth value, inside another part; at_least(k, A, ...) and "
                "A == 'state' are"
            )
        return found

    def _rule(self, tree: ast.expr, names: Mapping[str, str]) -> Rule:
        def read(part: ast.expr) -> Rule:
            return self._truth(part, names)

        match tree:
            case ast.BoolOp(op=ast.And()):
                parts = [read(part) for part in tree.values]
                return _between(len(parts), len(parts), parts)
            case ast.BoolOp():
                parts = [read(part) for part in tree.values]
                return _between(1, len(parts), parts)
            case ast.UnaryOp(op=ast.Not() | ast.Invert()):
                return _between(0, 0, [read(tree.operand)])
            case ast.BinOp(op=ast.BitXor()):
                return Odd(False, tuple(read(part) for part in _operands(tree)))
            case ast.Constant(value=bool()):
                return bool(tree.value)
            case ast.Name():
                return Test(self._parent(tree, names), self.true(self._named(tree, names)))
            case ast.Compare(left=ast.Name(), ops=[op], comparators=[other]):
                return self._compared(tree.left, op, other, names)
            case ast.Call(func=ast.Name(id=called), keywords=[]):
                return self._called(called, tree.args, names)
        raise self._fault(f"has a part that can't be read: {ast.unparse(tree):.60}")

    def _named(self, tree: ast.Name, names: Mapping[str, str]) -> str:
        found = names.get(tree.id, tree.id)
        if found not in self.parents:
            raise self._fault(f"names {found!r}, which isn't a parent of it; {suggest(found, self.parents)}")
        return found

    def _parent(self, tree: ast.expr, names: Mapping[str, str]) -> int:
        if not isinstance(tree, ast.Name):
            raise self._fault(f"should have a parent's name in place of {ast.unparse(tree):.60}")
        return list(self.parents).index(self._named(tree, names))

    def _compared(self, left: ast.expr, op: ast.cmpop, other: ast.expr, names: Mapping[str, str]) -> Rule:
        parent = self._parent(left, names)
        try:
            value = ast.literal_eval(other)
        except (ValueError, SyntaxError):
            problem = f"compares {self.parents[parent]!r} with {ast.unparse(other):.60}"
            raise self._fault(f"{problem}: states stand in quotes, as in == 'yes' or in ['yes', 'no']") from None
        several = isinstance(op, ast.In | ast.NotIn)
        if not isinstance(op, ast.Eq | ast.NotEq | ast.In | ast.NotIn) or (
            several and not isinstance(value, list | tuple | set)
        ):
            raise self._fault("can compare states by ==, != and in [...] alone")
        states = value if several else [value]
        test = Test(parent, frozenset(self.code(self.parents[parent], state) for state in states))
        return test if isinstance(op, ast.Eq | ast.In) else _between(0, 0, [test])

    def _called(self, called: str, arguments: Sequence[ast.expr], names: Mapping[str, str]) -> Rule:
        if called in ("max", "min"):
            parents = [self._parent(each, names) for each in arguments]
            return Extreme(
                1 if called == "max" else -1, None, tuple(Grade(p, self.grades(self.parents[p])) for p in parents)
            )
        if called in ("xor", "count"):
            parts = tuple(self._truth(each, names) for each in arguments)
            return Odd(False, parts) if called == "xor" else Count(0, parts)
        if called not in ("at_least", "at_most", "exactly"):
            known = "at_least, at_most, exactly, count, xor, max, min"
            raise self._fault(f"calls {called!r}, which isn't one of {known}")
        k = arguments[0].value if arguments and isinstance(arguments[0], ast.Constant) else None
        if not isinstance(k, int) or isinstance(k, bool) or len(arguments) < 2:
            raise self._fault(f"should have {called}(a whole number, A, B, ...)")
        parts = tuple(self._truth(each, names) for each in arguments[1:])
        low, high = {"at_least": (k, len(parts)), "at_most": (0, k), "exactly": (k, k)}[called]
        return _between(low, high, parts)


def _operands(tree: ast.expr) -> list[ast.expr]:
    """The operands of a xor b xor c ..., which Python parses as nested pairs."""
    found = list[ast.expr]()
    while isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.BitXor):
        found.append(tree.right)
        tree = tree.left
    return [tree, *reversed(found)]


def parents_of(rule: Rule) -> set[int]:
    """The variables that a rule is about."""
    match rule:
        case Test() | Grade():
            return {rule.parent}
        case Between() | Odd() | Count() | Extreme():
            return {parent for part in rule.parts for parent in parents_of(part)}
    return set()
