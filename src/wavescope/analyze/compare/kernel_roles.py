"""What a kernel of PyTorch's elementwise templates computes, whichever template serves it.

`elementwise_kernel<128, 4, gpu_kernel_impl_nocast<direct_copy_kernel_cuda(...)::{lambda(float)#1}>`
and `unrolled_elementwise_kernel<direct_copy_kernel_cuda(...)::{lambda(float)#1}, ...>` do the same
work; chips and versions choose between them. Two kernels of one template that work on other types
do not.
"""

from __future__ import annotations

import re
from functools import lru_cache

UNKNOWN_ROLE = ""
_LONGEST_NAME = 20_000
_TEMPLATE = re.compile(r"\b(?:\w+_)?elementwise_kernel(?:_manual_unroll)?<")
_WRAPPER = re.compile(r"(?:\w+::)*gpu_kernel_impl(?:_nocast)?<")
_NUMBER = re.compile(r"\s*-?\d+u?l*\s*")
_LAMBDA = re.compile(r"\{lambda\((?P<types>[^{}]*)\)(?: const)?#\d+\}")
_CALLED = re.compile(r"::operator\(\)\([^()]*\) const")
_SCOPE = re.compile(r"\(anonymous namespace\)::|\b(?:at|c10|native|cuda|detail)::")


@lru_cache(maxsize=4_096)
def kernel_role(full_name: str) -> str:
    """The functor and the types that it works on; empty where the name tells none."""
    text = full_name[:_LONGEST_NAME]
    found = _TEMPLATE.search(text)
    if found is None:
        return UNKNOWN_ROLE
    functor = next((a for a in _arguments(text, found.end()) if not _NUMBER.fullmatch(a)), "")
    wrapped = _WRAPPER.match(functor.strip())
    if wrapped:
        functor = next(iter(_arguments(functor.strip(), wrapped.end())), "")
    return _plain(functor)


def _arguments(text: str, start: int) -> list[str]:
    """The template arguments from `start` on, up to the bracket that closes them."""
    found = []
    depth, first = 0, start
    for place in range(start, len(text)):
        letter = text[place]
        if letter in "<({[":
            depth += 1
        elif letter in ">)}]":
            depth -= 1
        if depth < 0 or (letter == "," and depth == 0):
            found.append(text[first:place])
            first = place + 1
        if depth < 0:
            break
    return found


def _plain(functor: str) -> str:
    """Without what differs between versions: scopes, and the numbers of lambdas."""
    lambdas = [types for types in _LAMBDA.findall(functor) if types]
    plain = _SCOPE.sub("", functor.split("::{lambda", maxsplit=1)[0])
    if "{lambda" in functor:
        plain = _CALLED.sub("", plain).partition("(")[0]
        plain += f"({_SCOPE.sub('', lambdas[-1])})" if lambdas else ""
    return plain.replace(" ", "")


def role_types(role: str) -> str:
    """The types that a role works on, to tell kernels of one short name apart."""
    types = re.search(r"\(([^()]*)\)$", role) or re.search(r"<([^<>,]*)", role)
    return types.group(1) if types else role
