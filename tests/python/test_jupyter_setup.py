"""`outlive setup jupyter` and `outlive doctor jupyter` in an environment of their own."""

import json
import os
from pathlib import Path

import pytest

import outlive
from support.environment import Environment

pytest.importorskip("jupyter_server")

SERVER = "etc/jupyter/jupyter_server_config.d/outlive.json"
IPYTHON = "etc/ipython/ipython_kernel_config.json"
LAB = "share/jupyter/labextensions/outlive/package.json"


@pytest.fixture
def environment(tmp_path):
    # Spaces, as in a home folder of a person with two names.
    return Environment(tmp_path / "an environment")


def only_outlive(folder):
    """A folder of packages in which there is nothing but Outlive."""
    folder.mkdir(exist_ok=True)
    (folder / "outlive").symlink_to(Path(outlive.__file__).parent)
    return folder


def pretend(folder, package, version):
    """A package as far as its version is asked for."""
    place = folder / f"{package}-{version}.dist-info"
    place.mkdir()
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")


def test_undo_leaves_no_trace(environment):
    before = environment.tree()
    done = environment.set_up()
    assert done.returncode == 0, done.stderr
    assert json.loads((environment.prefix / SERVER).read_text()) == {
        "ServerApp": {"jpserver_extensions": {"outlive.jupyter": True}}
    }
    assert json.loads((environment.prefix / IPYTHON).read_text()) == {
        "InteractiveShellApp": {"extensions": ["outlive"]}
    }
    written = {
        line.partition(" ")[2] for line in done.stdout.splitlines() if line.startswith("wrote ")
    }
    new = {
        str(environment.prefix / name)
        for name, (_, content) in environment.tree().items()
        if name not in before and content is not None
    }
    # Every file is told of, and no other.
    assert written == new
    undone = environment.set_up("--undo")
    assert undone.returncode == 0, undone.stderr
    assert environment.tree() == before


def test_twice_is_harmless(environment):
    before = environment.tree()
    environment.set_up()
    once = environment.tree()
    again = environment.set_up()
    assert again.returncode == 0
    assert again.stdout == f"Outlive is set up in `{environment.prefix}`: nothing to do\n"
    assert environment.tree() == once
    environment.set_up("--undo")
    assert environment.tree() == before
    more = environment.set_up("--undo")
    assert more.returncode == 0
    assert "nothing to do" in more.stdout
    assert environment.tree() == before


def test_a_dry_run_only_says_what_it_would_do(environment):
    before = environment.tree()
    told = environment.set_up("--dry-run")
    assert environment.tree() == before
    would = [line.partition("would write ")[2] for line in told.stdout.splitlines()]
    done = environment.set_up()
    wrote = [line.partition("wrote ")[2] for line in done.stdout.splitlines()[:-1]]
    assert would == wrote
    after = environment.tree()
    told = environment.set_up("--undo", "--dry-run")
    assert "would remove" in told.stdout
    assert environment.tree() == after


def test_the_users_own_settings_stay_and_come_back_byte_for_byte(environment):
    path = environment.prefix / IPYTHON
    path.parent.mkdir(parents=True)
    # Neither the spaces nor the order are what a program would write.
    path.write_text('{"InteractiveShellApp":  {"extensions": ["autoreload"],\n"x":1}, "A": {}}')
    path.chmod(0o600)
    before = environment.tree()
    done = environment.set_up()
    assert f"merged {path}" in done.stdout.splitlines()
    merged = json.loads(path.read_text())
    assert merged == {
        "InteractiveShellApp": {"extensions": ["autoreload", "outlive"], "x": 1},
        "A": {},
    }
    assert path.stat().st_mode & 0o777 == 0o600
    environment.set_up("--undo")
    assert environment.tree() == before


@pytest.mark.parametrize("existed", [True, False])
def test_what_the_user_changed_since_stays_without_our_entry(environment, existed):
    path = environment.prefix / IPYTHON
    if existed:
        path.parent.mkdir(parents=True)
        path.write_text('{"InteractiveShellApp": {"extensions": ["autoreload"]}}')
    environment.set_up()
    settings = json.loads(path.read_text())
    settings["Mine"] = {"since": True}
    path.write_text(json.dumps(settings))
    environment.set_up("--undo")
    rest = json.loads(path.read_text())
    kept = {"InteractiveShellApp": {"extensions": ["autoreload"]}} if existed else {}
    assert rest == {**kept, "Mine": {"since": True}}
    assert not (environment.prefix / SERVER).exists()


def test_an_entry_that_was_there_before_stays(environment):
    path = environment.prefix / IPYTHON
    path.parent.mkdir(parents=True)
    path.write_text('{"InteractiveShellApp": {"extensions": ["outlive"]}}')
    before = environment.tree()
    environment.set_up()
    environment.set_up("--undo")
    assert environment.tree() == before


def test_what_an_older_version_wrote_is_replaced_and_still_undone(environment):
    before = environment.tree()
    environment.set_up()
    wanted = environment.tree()
    # As after an upgrade: the files differ from those of this version, and one is no longer used.
    record = environment.prefix / "share/outlive/jupyter-setup.json"
    told = json.loads(record.read_text())
    old = environment.prefix / "share/jupyter/labextensions/outlive/old.js"
    old.write_text("old")
    (environment.prefix / LAB).write_text("{}")
    told["files"].append({"path": str(old.relative_to(environment.prefix)), "digest": ""})
    record.write_text(json.dumps(told))
    done = environment.set_up()
    assert f"removed {old}" in done.stdout.splitlines()
    after = environment.tree()
    assert {**after, str(record.relative_to(environment.prefix)): None} == {
        **wanted,
        str(record.relative_to(environment.prefix)): None,
    }
    environment.set_up("--undo")
    assert environment.tree() == before


@pytest.mark.parametrize("content", ["{", "[]", '{"InteractiveShellApp": {"extensions": 1}}'])
def test_a_broken_file_is_named_and_nothing_is_written(environment, content):
    path = environment.prefix / IPYTHON
    path.parent.mkdir(parents=True)
    path.write_text(content)
    before = environment.tree()
    told = environment.set_up()
    assert told.returncode == 1
    [line, hint] = told.stderr.splitlines()
    assert str(path) in line
    assert hint.startswith("hint: ")
    assert environment.tree() == before


def test_a_read_only_environment_gets_one_line(environment):
    before = environment.tree()
    if os.geteuid() == 0:
        # Permissions do not stop root; a read-only mount does.
        mount = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" && shift && exec "$@"'
        words = ["unshare", "--mount", "sh", "-ec", mount, "sh", environment.prefix]
        words += [environment.python, "-m", "outlive.jupyter", "setup"]
        told = environment.run(*words)
    else:
        folders = [environment.prefix, *(it for it in environment.prefix.rglob("*") if it.is_dir())]
        for folder in folders:
            folder.chmod(0o555)
        told = environment.set_up()
        for folder in folders:
            folder.chmod(0o755)
    assert told.returncode == 1, told.stdout
    assert "Traceback" not in told.stderr
    [line, hint] = told.stderr.splitlines()
    assert line.startswith("Cannot write into `")
    assert hint.startswith("hint: ")
    assert environment.tree() == before


def test_half_of_a_set_up_is_taken_back(environment):
    # A folder where a file should be: seen only when the others were written.
    place = environment.prefix / LAB
    place.mkdir(parents=True)
    before = environment.tree()
    told = environment.set_up()
    assert told.returncode == 1
    [line] = told.stderr.splitlines()
    assert str(place) in line
    assert environment.tree() == before


def test_without_jupyter_there_is_one_line(tmp_path):
    environment = Environment(tmp_path / "env", [only_outlive(tmp_path / "packages")])
    before = environment.tree()
    told = environment.set_up()
    assert told.returncode == 1
    [line, hint] = told.stderr.splitlines()
    assert line.startswith("No Jupyter in `")
    assert "pip install jupyterlab" in hint
    assert environment.tree() == before


@pytest.mark.parametrize(
    ("package", "version", "part"),
    [
        ("jupyter_client", "6.1.12", "guarding kernels"),
        ("jupyter_server", "1.24.0", "verdicts"),
        ("ipykernel", "5.5.6", "explanations in cells"),
        ("jupyterlab", "3.6.8", "status bar"),
    ],
)
def test_an_old_jupyter_is_told_what_it_lacks(tmp_path, package, version, part):
    packages = only_outlive(tmp_path / "packages")
    new = {
        "jupyter_client": "8.0",
        "jupyter_server": "2.0",
        "ipykernel": "6.0",
        "jupyterlab": "4.0",
    }
    for name, number in {**new, package: version}.items():
        pretend(packages, name, number)
    environment = Environment(tmp_path / "env", [packages])
    before = environment.tree()
    told = environment.set_up()
    assert told.returncode == 1
    [line, hint] = told.stderr.splitlines()
    assert line.startswith(f"{package} {version} is too old for ")
    assert part in line
    assert f"pip install --upgrade {package}" in hint
    assert environment.tree() == before


def test_without_jupyterlab_the_rest_is_set_up(tmp_path):
    packages = only_outlive(tmp_path / "packages")
    for name, number in {
        "jupyter_client": "8.0",
        "jupyter_server": "2.0",
        "ipykernel": "6.0",
    }.items():
        pretend(packages, name, number)
    environment = Environment(tmp_path / "env", [packages])
    before = environment.tree()
    told = environment.set_up()
    assert told.returncode == 0, told.stderr
    assert "No JupyterLab here" in told.stdout
    assert (environment.prefix / SERVER).exists()
    assert not (environment.prefix / LAB).exists()
    environment.set_up("--undo")
    assert environment.tree() == before


def test_the_systems_own_python_is_left_alone(environment, tmp_path):
    # The interpreter as it is without an environment, and a standard library that says whose it is.
    code = (
        "import sys, sysconfig, runpy\n"
        f"sysconfig.get_path = lambda name, *more, _old=sysconfig.get_path: "
        f"{str(tmp_path)!r} if name == 'stdlib' else _old(name, *more)\n"
        "sys.base_prefix = sys.prefix\n"
        "sys.argv = ['outlive', 'setup']\n"
        "runpy.run_module('outlive.jupyter', run_name='__main__')\n"
    )
    (tmp_path / "EXTERNALLY-MANAGED").write_text("[externally-managed]\n")
    before = environment.tree()
    told = environment.run(environment.python, "-c", code)
    assert told.returncode == 1, told.stdout
    [line, hint] = told.stderr.splitlines()
    assert "EXTERNALLY-MANAGED" in line
    assert "virtual environment" in hint
    assert environment.tree() == before


def test_the_start_of_python_stays_fast_and_quiet(environment):
    environment.set_up()
    plain = environment.run(environment.python, "-c", "import sys; print(len(sys.modules))")
    assert plain.stderr == ""
    [line] = (environment.site_packages / "outlive-jupyter.pth").read_text().splitlines()
    # Nothing is imported: the code in the file is all there is.
    code = f"import sys; before = set(sys.modules); del sys._outlive_waits; exec({line!r})\n"
    code += "print(sorted(set(sys.modules) - before))"
    assert environment.run(environment.python, "-c", code).stdout == "[]\n"
    # Once, though Python runs the file twice in a virtual environment.
    code = "import sys; print(sum('Outlive' in repr(it) for it in sys.meta_path))"
    assert environment.run(environment.python, "-c", code).stdout == "1\n"
    code = f"import timeit; line = {line!r}\n"
    code += "import sys\ndef once():\n    del sys._outlive_waits; exec(line, {})\n"
    code += "print(min(timeit.repeat(once, number=20, repeat=20)) / 20)"
    seconds = float(environment.run(environment.python, "-c", code).stdout)
    assert seconds < 0.0002


def test_nbclient_works_where_outlive_is_gone_and_its_start_is_not(environment):
    environment.set_up()
    code = (
        "import sys; sys.modules['outlive'] = None; import nbclient; print(nbclient.NotebookClient)"
    )
    told = environment.run(environment.python, "-c", code)
    assert told.returncode == 0, told.stderr
    assert "NotebookClient" in told.stdout


def test_the_doctor_finds_all_well_after_a_set_up(environment):
    environment.set_up()
    told = environment.module("outlive.jupyter", "doctor", "--format", "json")
    answer = json.loads(told.stdout)
    ill = [piece for piece in answer["pieces"] if not piece["ok"]]
    assert ill == []
    assert told.returncode == 0
    names = {piece["piece"] for piece in answer["pieces"]}
    assert {"kernel", "provisioner", "server extension", "nbclient", "hook library"} <= names
    text = environment.module("outlive.jupyter", "doctor")
    assert text.returncode == 0
    assert all(line.startswith("ok ") for line in text.stdout.splitlines())


def test_the_doctor_says_what_is_missing_and_what_to_do(environment):
    environment.set_up()
    (environment.prefix / SERVER).unlink()
    (environment.prefix / IPYTHON).write_text("{}")
    (environment.prefix / LAB).write_text("{}")
    (environment.site_packages / "outlive-jupyter.pth").unlink()
    told = environment.module("outlive.jupyter", "doctor", "--format", "json")
    assert told.returncode == 1
    pieces = {piece["piece"]: piece for piece in json.loads(told.stdout)["pieces"]}
    for name in (
        "server extension",
        "default provisioner",
        "IPython's configuration",
        "IPython's extension",
        "JupyterLab's extension",
        "nbclient",
    ):
        assert pieces[name]["ok"] is False, name
        assert "outlive setup jupyter" in pieces[name]["hint"]
    assert pieces["kernel"]["ok"] is True
    # And that is what helps.
    environment.set_up()
    assert environment.module("outlive.jupyter", "doctor").returncode == 0


def test_the_doctor_sees_settings_that_switch_it_off(environment):
    environment.set_up()
    config = environment.private / "config"
    config.mkdir()
    off = {"ServerApp": {"jpserver_extensions": {"outlive.jupyter": False}}}
    (config / "jupyter_server_config.json").write_text(json.dumps(off))
    told = environment.module(
        "outlive.jupyter",
        "doctor",
        "--format",
        "json",
        env={"JUPYTER_DEFAULT_PROVISIONER_NAME": "another", "JUPYTER_PREFER_ENV_PATH": "0"},
    )
    assert told.returncode == 1
    pieces = {piece["piece"]: piece for piece in json.loads(told.stdout)["pieces"]}
    assert str(config) in pieces["server extension"]["text"]
    assert "`another`" in pieces["default provisioner"]["text"]


def test_the_program_sets_up_the_environment_it_is_in(environment):
    before = environment.tree()
    done = environment.run(environment.prefix / "bin" / "outlive", "setup", "jupyter")
    assert done.returncode == 0, done.stderr
    assert (environment.prefix / SERVER).exists()
    undone = environment.run(environment.prefix / "bin" / "outlive", "setup", "jupyter", "--undo")
    assert undone.returncode == 0, undone.stderr
    assert environment.tree() == before
