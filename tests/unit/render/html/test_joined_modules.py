"""Modules that a page carries as one script: scopes, order, and what is refused."""

from __future__ import annotations

import subprocess

import pytest

from wavescope.render.html.modules import joined_script, needed_modules

COUNTER = """// counts
/** @param {import("./types").Step} step */
export const add = (step) => {
  total += step;
  return total;
};
let total = 0;
export class Limit {}
"""


def run(script: str) -> str:
    return subprocess.run(
        ["node", "-e", script], capture_output=True, text=True, check=True
    ).stdout.strip()


def joined(*entries: str, **texts: str) -> str:
    files = {name.replace("__", "/") + ".js": text for name, text in texts.items()}
    return joined_script([f"{name}.js" for name in entries], files.__getitem__)


def test_a_module_runs_once_before_those_that_import_it() -> None:
    script = joined(
        "first",
        "second",
        first='import { add } from "./parts/counter.js";\nconst total = add(1);\nconsole.log(total);\n',
        second='import {\n  Limit,\n  add,\n} from "./parts/counter.js";\nconsole.log(add(10), Limit.name);\n',
        parts__counter=COUNTER,
    )

    assert run(script) == "1\n11 Limit"
    assert script.count("let total = 0;") == 1


def test_paths_count_from_the_module_that_names_them() -> None:
    script = joined(
        "main",
        main='import { text } from "./a/one.js";\nconsole.log(text);\n',
        a__one='import { other } from "../b/two.js";\nexport const text = `from ${other()}`;\n',
        b__two="export async function wait() {}\nexport function other() {\n  return 'two';\n}\n",
    )

    assert run(script) == "from two"


def test_comments_are_left_out_and_names_do_not_leak() -> None:
    script = joined("main", main=COUNTER)

    assert "counts" not in script
    assert "@param" not in script
    assert run(script + "\nconsole.log(typeof add, typeof total);") == "undefined undefined"


@pytest.mark.parametrize(
    "line",
    [
        'import "./b.js";',
        'import b from "./b.js";',
        'import * as b from "./b.js";',
        'import { a as c } from "./b.js";',
        'import { a } from "other";',
        'const b = await import("./b.js");',
        "const address = import.meta.url;",
        "export default 1;",
        "export { a };",
        'export * from "./b.js";',
        "export let a = 1;",
        "export const { a } = b;",
    ],
)
def test_other_forms_are_refused(line: str) -> None:
    with pytest.raises(ValueError, match=r"main\.js: a form that is not understood"):
        joined("main", main=f"const x = 1;\n{line}\n", b="export const a = 1;\n")


def test_modules_that_need_each_other_are_refused() -> None:
    with pytest.raises(ValueError, match=r"a\.js -> b\.js -> a\.js"):
        joined(
            "a",
            a='import { b } from "./b.js";\nexport const a = 1;\n',
            b='import { a } from "./a.js";\nexport const b = 1;\n',
        )


def test_a_name_that_is_not_exported_is_refused() -> None:
    with pytest.raises(ValueError, match=r"main\.js: b\.js does not export c"):
        joined("main", main='import { a, c } from "./b.js";\n', b="export const a = 1;\n")


def test_a_script_cannot_end_its_element() -> None:
    with pytest.raises(ValueError, match=r"main\.js: what would end the element"):
        joined("main", main='const text = "</Script>";\n')


def test_what_a_module_needs_is_found_through_others_once() -> None:
    texts = {
        "view/main.js": 'import { a } from "./a.js";\nimport {\n  b as other,\n} from "../parts/b.js";\n',
        "view/a.js": '/** @typedef {import("./types").T} T */\nimport { b } from "../parts/b.js";\n',
        "parts/b.js": "export const b = 1;\nconst text = 'import { c } from \"./c.js\";';\n",
    }

    found = needed_modules("view/main.js", texts.__getitem__)

    assert sorted(found) == ["parts/b.js", "view/a.js", "view/main.js"]
