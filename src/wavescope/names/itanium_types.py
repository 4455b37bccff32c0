"""The types, template arguments and values inside a mangled symbol."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import NamedTuple

from wavescope.names.itanium_symbol import (
    BUILTIN_D_TYPES,
    BUILTIN_TYPES,
    LITERAL_SUFFIXES,
    STD_SHORTHANDS,
    Argument,
    Known,
    NotMangledError,
    SymbolCursor,
    Type,
    as_types,
)


class Name(NamedTuple):
    """A possibly qualified name, and what its signature needs to know of it."""

    text: str
    has_arguments: bool = False  # a function template: its return type is part of the symbol
    has_no_return: bool = False  # a constructor or conversion: it never is
    qualifiers: str = ""


class TypeReader(SymbolCursor, ABC):
    """Reads types; the names in them are read by the class that knows names."""

    @abstractmethod
    def name(self, *, keeps_arguments: bool = False) -> Name:
        """Return a name; with `keeps_arguments` its template arguments are what `T_` means."""

    @abstractmethod
    def encoding(self, *, with_return: bool) -> str:
        """Return a function with its parameters, or a variable."""

    @abstractmethod
    def unqualified_name(self) -> str:
        """Return one component of a name."""

    def parameters(self) -> str:
        """Return the comma-separated types up to the end of a signature."""
        if self.peek() == "v" and self.text[self.at + 1] in "\0E.$@":
            self.at += 1
            return ""
        types: list[str] = []
        while self.peek() not in "\0E.$@":
            types.extend(map(str, self.type_or_pack()))
        return self.made(", ".join(types))

    def substitution(self) -> Argument:
        self.expect("S")
        shorthand = STD_SHORTHANDS.get(self.peek())
        if shorthand is not None:
            self.at += 1
            return Type(shorthand)
        index = 0
        if not self.accept("_"):
            end = self.text.find("_", self.at, self.at + 6)
            digits = self.text[self.at : end]
            if end < 0 or not digits.isascii() or not digits.isalnum() or digits != digits.upper():
                raise NotMangledError
            index = int(digits, 36) + 1
            self.at = end + 1
        if index >= len(self.known):
            raise NotMangledError
        return self.recalled(self.known[index])

    def recalled(self, known: Known) -> Argument:
        """Return a known part as it reads here: its `T_` follow the template they now stand in."""
        if known.scope is None:
            return known.argument
        self.parameters_read += 1
        is_same_scope = known.scope is self.arguments and known.in_lambda == self.in_lambda
        if is_same_scope and self.pack_index is None:
            return known.argument
        here, known_count = self.at, len(self.known)
        self.at = known.start
        self.enter()
        argument, _ = self.read_type()
        self.depth -= 1
        del self.known[known_count:]
        self.at = here
        return argument

    def template_parameter(self) -> Argument:
        self.expect("T")
        if self.accept("L"):
            self.number()
            self.expect("_")
        index = 0
        if not self.accept("_"):
            index = self.number() + 1
            self.expect("_")
        self.parameters_read += 1
        if self.in_lambda or index >= len(self.arguments):
            return Type(f"auto:{index + 1}")
        return self.chosen(self.arguments[index])

    def chosen(self, argument: Argument) -> Argument:
        """Return the argument, or inside a pack expansion the element it has reached."""
        if not isinstance(argument, list) or self.pack_index is None:
            return argument
        self.pack_length = len(argument)
        return argument[self.pack_index] if self.pack_index < len(argument) else Type("")

    def template_arguments(self, keeps_arguments: bool = False) -> str:
        self.enter()
        self.expect("I")
        if keeps_arguments:
            self.arguments = []
        arguments: list[Argument] = []
        while not self.accept("E"):
            argument = self.template_argument()
            arguments.append(argument)
            if keeps_arguments:
                self.arguments.append(argument)
        self.depth -= 1
        flat = ", ".join(str(item) for argument in arguments for item in as_types(argument))
        return self.made(f"<{flat} >" if flat.endswith(">") else f"<{flat}>")

    def template_argument(self) -> Argument:
        letter = self.peek()
        if letter == "L":
            return Type(self.literal())
        if self.accept("X"):
            text = self.expression()
            self.expect("E")
            return Type(text)
        if self.accept("J"):
            pack: list[Type] = []
            while not self.accept("E"):
                pack.extend(as_types(self.template_argument()))
            return pack
        if letter == "T" and self.text[self.at + 1] in "yntpk":
            self.parameter_declaration()
            return self.template_argument()
        items = self.type_or_pack()
        return items[0] if len(items) == 1 else items

    def parameter_declaration(self) -> None:
        """Skip what newer compilers say about the parameter an argument is for."""
        self.expect("T")
        kind = self.peek()
        self.at += 1
        if kind == "n":
            self.type()
        elif kind == "t":
            while not self.accept("E"):
                self.parameter_declaration()
        elif kind == "p":
            self.parameter_declaration()
        elif kind == "k":
            self.name()

    def type_or_pack(self) -> list[Type]:
        """Return one type, or the types of an expanded pack."""
        if not self.accept("Dp"):
            return as_types(self.type_or_reference())
        start, outer_index = self.at, self.pack_index
        self.pack_index, self.pack_length = 0, -1
        expanded = [self.type()]
        if self.pack_length == 0:
            expanded.clear()
        known_count = len(self.known)
        for index in range(1, self.pack_length):
            self.at, self.pack_index = start, index
            expanded.append(self.type())
            del self.known[known_count:]
        self.pack_index = outer_index
        return expanded

    def type(self) -> Type:
        items = as_types(self.type_or_reference())
        return items[0] if len(items) == 1 else Type(self.made(", ".join(map(str, items))))

    def type_or_reference(self) -> Argument:
        self.enter()
        start, parameters_before = self.at, self.parameters_read
        found, is_new = self.read_type()
        self.depth -= 1
        if is_new:
            scope = self.arguments if self.parameters_read > parameters_before else None
            self.known.append(Known(found, start, scope, self.in_lambda))
        return found

    def read_type(self) -> tuple[Argument, bool]:
        """Return a type, and whether later parts of the symbol may refer back to it."""
        letter, following = self.peek(), self.text[self.at + 1]
        builtin = BUILTIN_TYPES.get(letter)
        if builtin is not None:
            self.at += 1
            return Type(builtin), False
        if letter in "rVK":
            qualifiers = self.qualifiers()
            inner = self.type()
            return Type(self.made(inner.left + qualifiers), inner.right), True
        if letter in "PRO":
            self.at += 1
            return self.pointer_to(self.type(), {"P": "*", "R": "&", "O": "&&"}[letter]), True
        if letter == "D":
            return self.d_type(following)
        if letter == "S" and following != "t":
            return self.with_arguments(self.substitution())
        if letter == "T" and following not in "sue":
            start = self.at
            parameter = self.template_parameter()
            self.known.append(Known(parameter, start, self.arguments, self.in_lambda))
            return self.with_arguments(parameter)
        if letter in "AFMUu":
            return self.compound_type(letter), True
        self.at += 2 if letter == "T" else 0
        return Type(self.name().text), True

    def with_arguments(self, template: Argument) -> tuple[Argument, bool]:
        if self.peek() != "I":
            return template, False
        text = ", ".join(map(str, as_types(template)))
        return Type(self.made(text + self.template_arguments())), True

    def qualifiers(self) -> str:
        text = ""
        while self.peek() in "rVK":
            text = {"r": " restrict", "V": " volatile", "K": " const"}[self.peek()] + text
            self.at += 1
        return text

    def pointer_to(self, inner: Type, mark: str) -> Type:
        if inner.right.startswith(("(", " [")):
            left = inner.left.rstrip()
            gap = "" if left.endswith(("(*", "(&", "(&&")) else " "
            return Type(self.made(f"{left}{gap}({mark}"), ")" + inner.right)
        if mark != "*" and inner.left.endswith("&"):
            # A reference to a reference: only two rvalue references stay one.
            both_rvalue = mark == "&&" and inner.left.endswith("&&")
            return Type(inner.left.rstrip("&") + ("&&" if both_rvalue else "&"), inner.right)
        return Type(self.made(inner.left + mark), inner.right)

    def d_type(self, following: str) -> tuple[Argument, bool]:
        builtin = BUILTIN_D_TYPES.get(following)
        if builtin is not None:
            self.at += 2
            return Type(builtin), False
        if self.accept("DF"):
            bits = self.number()
            if self.accept("b"):
                return Type("std::bfloat16_t"), False
            suffix = "x" if self.accept("x") else ""
            self.accept("_")
            return Type(f"_Float{bits}{suffix}"), False
        if self.accept("DB") or self.accept("DU"):
            sign = "unsigned " if self.text[self.at - 1] == "U" else ""
            bits = self.number()
            self.expect("_")
            return Type(f"{sign}_BitInt({bits})"), False
        if self.accept("Dv"):
            length = self.number()
            self.expect("_")
            return Type(self.made(f"{self.type()} __vector({length})")), True
        if self.accept("Dt") or self.accept("DT"):
            text = self.expression()
            self.expect("E")
            return Type(self.made(f"decltype ({text})")), True
        if self.accept("Do"):
            inner = self.type()
            return Type(inner.left, inner.right + " noexcept"), True
        raise NotMangledError

    def compound_type(self, letter: str) -> Type:
        self.at += 1
        if letter == "A":
            size = "" if self.peek() == "_" else str(self.number())
            self.expect("_")
            element = self.type()
            return Type(element.left, self.made(f" [{size}]{element.right.lstrip()}"))
        if letter == "F":
            self.accept("Y")
            returned = self.type()
            parameters = self.parameters()
            self.expect("E")
            return Type(returned.left + " ", self.made(f"({parameters})") + returned.right)
        if letter == "M":
            owner, member = self.type(), self.type()
            if member.right.startswith("("):
                left = f"{member.left.rstrip()} ({owner}::*"
                return Type(self.made(left), ")" + member.right)
            return Type(self.made(f"{member.left} {owner}::*"), member.right)
        name = self.source_name()
        if letter == "u":
            return Type(name)
        qualifier = name + (self.template_arguments() if self.peek() == "I" else "")
        inner = self.type()
        return Type(self.made(f"{inner.left} {qualifier}"), inner.right)

    def literal(self) -> str:
        self.expect("L")
        if self.accept("_Z"):
            text = self.encoding(with_return=True)
            self.expect("E")
            return text
        code = self.peek()
        kind = self.type()
        end = self.text.find("E", self.at, self.at + 64)
        value = self.text[self.at : end]
        if end < 0 or (value and not value.isalnum()):
            raise NotMangledError
        self.at = end + 1
        if code in "fdeg":
            return f"({kind})[{value}]"
        value = "-" + value[1:] if value.startswith("n") else value
        if code == "b" and value in ("0", "1"):
            return "true" if value == "1" else "false"
        if code in LITERAL_SUFFIXES:
            return value + LITERAL_SUFFIXES[code]
        return self.made(f"({kind}){value}")

    def expression(self) -> str:
        self.enter()
        text = self.read_expression()
        self.depth -= 1
        return self.made(text)

    def read_expression(self) -> str:
        letter = self.peek()
        if letter == "L":
            return self.literal()
        if letter == "T":
            return str(Type(", ".join(map(str, as_types(self.template_parameter())))))
        if self.accept("sp"):
            return self.expression() + "..."
        if self.accept("st"):
            return f"sizeof ({self.type()})"
        if self.accept("sr"):
            owner = self.type()
            name = self.unqualified_name()
            arguments = self.template_arguments() if self.peek() == "I" else ""
            return f"{owner}::{name}{arguments}"
        if self.accept("cv"):
            return f"({self.type()})({self.expression()})"
        if self.accept("cl"):
            function, *operands = self.expressions()
            return f"{function}({', '.join(operands)})"
        if letter.isdecimal():
            name = self.source_name()
            return name + (self.template_arguments() if self.peek() == "I" else "")
        spelling, operand_count = self.operator()
        if operand_count == 1:
            return f"{spelling}({self.expression()})"
        if operand_count == 2:
            left, right = self.expression(), self.expression()
            return f"({left}) {spelling} ({right})"
        if operand_count == 3:
            return f"({self.expression()}) ? ({self.expression()}) : ({self.expression()})"
        raise NotMangledError

    def expressions(self) -> list[str]:
        found = [self.expression()]
        while not self.accept("E"):
            found.append(self.expression())
        return found
