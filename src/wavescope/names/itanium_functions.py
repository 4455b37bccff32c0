"""Functions in the grammar of mangled C++ names (the Itanium ABI)."""

from __future__ import annotations

from wavescope.names.itanium_symbol import Known, NotMangledError, Type
from wavescope.names.itanium_types import Name, TypeReader

LONGEST_RESULT = 65_536


def demangled(symbol: str) -> str | None:
    """The C++ name behind `symbol`, or None where it is broken or grows beyond `LONGEST_RESULT`."""
    try:
        return _SymbolReader(symbol).symbol()
    except (NotMangledError, IndexError, RecursionError):
        return None


class _SymbolReader(TypeReader):
    """Reads functions and their names."""

    def symbol(self) -> str:
        self.expect("_Z")
        text = self.encoding(with_return=True)
        rest = self.text[self.at : -1]
        if rest and rest[0] not in "._$@":
            raise NotMangledError
        if len(text) > LONGEST_RESULT:
            raise NotMangledError
        return f"{text} [clone {rest}]" if rest else text

    def encoding(self, *, with_return: bool) -> str:
        self.enter()
        outer_arguments, self.arguments = self.arguments, []
        name = self.name(keeps_arguments=True)
        text = name.text
        if self.peek() not in "\0E.$@":
            returned = Type("")
            if name.has_arguments and not name.has_no_return:
                returned = self.type()
            parameters = self.parameters()
            text = self.made(f"{text}({parameters}){name.qualifiers}")
            if with_return and returned.left:
                gap = "" if returned.right else " "
                text = self.made(f"{returned.left}{gap}{text}{returned.right}")
        self.arguments = outer_arguments
        self.depth -= 1
        return text

    def name(self, *, keeps_arguments: bool = False) -> Name:
        letter = self.peek()
        if letter == "N":
            return self.nested_name(keeps_arguments)
        if letter == "Z":
            return self.local_name(keeps_arguments)
        if letter == "S" and self.text[self.at + 1] != "t":
            text, is_known = str(self.substitution()), True
        else:
            prefix = "std::" if self.accept("St") else ""
            text, is_known = prefix + self.unqualified_name(), False
        if self.peek() != "I":
            if is_known and keeps_arguments:
                raise NotMangledError
            return Name(text)
        if not is_known:
            self.known.append(Known(Type(text)))
        return Name(self.made(text + self.template_arguments(keeps_arguments)), True)

    def nested_name(self, keeps_arguments: bool) -> Name:
        self.enter()
        self.expect("N")
        qualifiers = self.qualifiers()
        if self.peek() in "RO" and self.text[self.at + 1] != "\0":
            qualifiers += " &" if self.accept("R") else " &&" if self.accept("O") else ""
        text, last, has_arguments, has_no_return = "", "", False, False
        while not self.accept("E"):
            letter = self.peek()
            is_known = letter == "S" and self.text[self.at + 1] != "t"
            if letter == "I" and text:
                text, has_arguments = text + self.template_arguments(keeps_arguments), True
            elif self.accept("M"):
                continue
            else:
                part, ends_return = self.nested_part(last)
                has_no_return |= ends_return
                has_arguments = False
                last = part
                text = f"{text}::{part}" if text else part
            self.made(text)
            if self.peek() != "E" and not is_known and text != "std":
                self.known.append(Known(Type(text)))
        self.depth -= 1
        if not text:
            raise NotMangledError
        return Name(text, has_arguments, has_no_return, qualifiers)

    def nested_part(self, enclosing: str) -> tuple[str, bool]:
        """Return one component of a nested name, and whether such a function returns nothing."""
        letter, following = self.peek(), self.text[self.at + 1]
        if letter == "S":
            if self.accept("St"):
                return "std", False
            return str(self.substitution()), False
        if letter == "T":
            return str(self.template_parameter()), False
        if letter == "D" and following in "tT":
            return str(self.type()), False
        if letter == "C" and following in "12345I":
            self.at += 2
            return _class_name(enclosing), True
        if letter == "D" and following in "01245":
            self.at += 2
            return "~" + _class_name(enclosing), True
        is_conversion = self.text.startswith("cv", self.at)
        return self.unqualified_name(), is_conversion

    def local_name(self, keeps_arguments: bool) -> Name:
        """Return the name of something declared inside a function."""
        self.expect("Z")
        outer_lambda, self.in_lambda = self.in_lambda, False
        function = self.encoding(with_return=False)
        self.in_lambda = outer_lambda
        self.expect("E")
        if self.accept("s"):
            self.discriminator()
            return Name(self.made(f"{function}::string literal"))
        if self.accept("d"):
            if self.peek() != "_":
                self.number()
            self.expect("_")
        inner = self.name(keeps_arguments=keeps_arguments)
        self.discriminator()
        return inner._replace(text=self.made(f"{function}::{inner.text}"))

    def discriminator(self) -> None:
        if self.accept("__"):
            self.number()
            self.expect("_")
        elif self.peek() == "_" and self.text[self.at + 1].isdecimal():
            self.at += 2

    def unqualified_name(self) -> str:
        self.accept("L")  # internal linkage: not part of what was written
        letter = self.peek()
        if letter.isdecimal():
            text = self.source_name()
        elif letter == "U":
            text = self.unnamed()
        elif letter.islower():
            text = self.operator_name()
        else:
            raise NotMangledError
        while self.accept("B"):
            text += f"[abi:{self.source_name()}]"
        return text

    def unnamed(self) -> str:
        """Return the spelling of a lambda or of a type without a name."""
        if self.accept("Ut"):
            return f"{{unnamed type#{self.ordinal()}}}"
        self.expect("Ul")
        outer_lambda, self.in_lambda = self.in_lambda, True
        while self.peek() == "T" and self.text[self.at + 1] in "yntpk":
            self.parameter_declaration()
        parameters = self.parameters()
        self.in_lambda = outer_lambda
        self.expect("E")
        return self.made(f"{{lambda({parameters})#{self.ordinal()}}}")

    def operator_name(self) -> str:
        if self.accept("cv"):
            return self.made(f"operator {self.type()}")
        if self.accept("li"):
            return f'operator"" {self.source_name()}'
        spelling, _ = self.operator()
        return f"operator {spelling}" if spelling[0].isalpha() else f"operator{spelling}"


def _class_name(component: str) -> str:
    """Return what a constructor of a class is called."""
    return component.split("<", 1)[0].rsplit("::", 1)[-1]
