"""Kernels of a real Jupyter server in an environment that was set up."""

import asyncio
import json
import os
import select
import signal
import time
from pathlib import Path

import pytest

from support import cgroup
from support.environment import Environment
from support.server import Server

pytest.importorskip("jupyter_server")

ASK = "import os; print(os.getpid(), os.getppid(), os.environ.get('OUTLIVE_RUN_DIR'))"
# Memory that no library asks for and one long call fills: neither refused nor stopped.
TAKE = """
import ctypes
libc = ctypes.CDLL(None)
libc.syscall.restype = ctypes.c_void_p
size = {size}
address = libc.syscall(9, None, ctypes.c_size_t(size), 3, 0x22, -1, 0)
print("taking", flush=True)
ctypes.memset(address, 1, size)
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    made = Environment(tmp_path_factory.mktemp("server") / "env")
    done = made.set_up()
    assert done.returncode == 0, done.stderr
    return made


@pytest.fixture(scope="module")
def server(environment):
    with Server(environment) as started:
        yield started


def test_a_kernel_is_guarded_without_touching_its_specification(server):
    kernel = server.start_kernel()

    async def look():
        async with server.kernel(kernel) as notebook:
            told = await notebook.run("import outlive; print(outlive.usage().budget > 0)\n" + ASK)
            return told, await notebook.run("print(open('/proc/self/oom_score_adj').read())")

    told, score = asyncio.run(look())
    [budget, line] = told.splitlines()
    [_, parent, directory] = line.split(maxsplit=2)
    assert budget == "True"
    assert Path(f"/proc/{parent}/comm").read_text().strip() == "outlive"
    # The kernel is what the machine takes first, before the server and all its other kernels.
    own = int(Path(f"/proc/{server.process.pid}/oom_score_adj").read_text())
    assert int(score) == min(1000, own + 300)
    status, answer = server.ask(f"outlive/kernels/{kernel}/status")
    assert status == 200
    assert answer["guarded"] is True
    assert answer["run"] == Path(directory).name
    assert 0 < answer["use"] <= answer["peak"] < answer["budget"]
    assert answer["headroom"] > 0
    assert answer["short"] is False
    server.ask(f"api/kernels/{kernel}", "DELETE")


def test_holders_name_the_line(server):
    kernel = server.start_kernel()

    async def look():
        async with server.kernel(kernel) as notebook:
            await notebook.run("held = bytearray(300 << 20)")

    asyncio.run(look())
    status, answer = server.ask(f"outlive/kernels/{kernel}/holders")
    assert status == 200
    [first, *_] = answer["holders"]
    assert first["bytes"] >= 300 << 20
    assert first["place"] == "cell [1] line 1"
    assert first["text"] == "held = bytearray(300 << 20)"
    server.ask(f"api/kernels/{kernel}", "DELETE")


@pytest.mark.parametrize("what", ["status", "holders", "verdict"])
def test_only_who_is_let_in_gets_an_answer(server, what):
    kernel = server.start_kernel()
    assert server.ask(f"outlive/kernels/{kernel}/{what}", token=None)[0] == 403
    assert server.ask(f"outlive/kernels/{kernel}/{what}", token="wrong")[0] == 403
    server.ask(f"api/kernels/{kernel}", "DELETE")


def test_a_kernel_that_is_not_known_is_not_guarded(server):
    nobody = "00000000-0000-0000-0000-000000000000"
    assert server.ask(f"outlive/kernels/{nobody}/status") == (200, {"guarded": False})
    assert server.ask(f"outlive/kernels/{nobody}/holders") == (200, {"holders": []})
    assert server.ask(f"outlive/kernels/{nobody}/verdict") == (200, None)


def test_an_interrupt_comes_once(server):
    kernel = server.start_kernel()
    code = """
import time
count = 0
print("sleeping", flush=True)
for _ in range(2):
    try:
        time.sleep(30 if count == 0 else 1)
    except KeyboardInterrupt:
        count += 1
print("interrupted", count)
"""

    async def interrupt():
        async with server.kernel(kernel) as notebook:
            told = notebook.told(notebook.send(code))
            assert "sleeping" in await told.__anext__()
            # The server answers once the signal is sent; it must not wait for the cell.
            ask = asyncio.get_running_loop().run_in_executor
            await ask(None, server.ask, f"api/kernels/{kernel}/interrupt", "POST")
            return "".join([text async for text in told])

    assert asyncio.run(interrupt()) == "interrupted 1\n"
    server.ask(f"api/kernels/{kernel}", "DELETE")


def test_a_kernel_killed_from_outside_says_so_within_a_second(server):
    kernel = server.start_kernel()

    async def kill():
        async with server.events() as events, server.kernel(kernel) as notebook:
            [pid, _, _] = (await notebook.run(ASK)).split(maxsplit=2)
            begun = time.monotonic()
            os.kill(int(pid), signal.SIGKILL)
            return await events.verdict(), time.monotonic() - begun

    event, seconds = asyncio.run(kill())
    assert seconds < 1
    assert event["kernel_id"] == kernel
    assert event["kernel_name"] == "python3"
    assert event["verdict"] == "killed_from_outside"
    assert event["headline"] == "Kernel killed from outside"
    assert event["ended"] == "killed by SIGKILL (signal 9)"
    assert "oom_kill" in event["text"]
    status, model = server.ask(f"api/kernels/{kernel}")
    assert model["reason"].startswith("Kernel killed from outside")
    assert "memory" not in model["reason"]
    status, answer = server.ask(f"outlive/kernels/{kernel}/verdict")
    assert status == 200
    assert answer["text"] == event["text"]
    server.ask(f"api/kernels/{kernel}", "DELETE")


def test_the_verdict_names_the_notebook(server):
    wanted = {
        "path": "work.ipynb",
        "name": "work.ipynb",
        "type": "notebook",
        "kernel": {"name": "python3"},
    }
    _, session = server.ask("api/sessions", "POST", wanted)
    kernel = session["kernel"]["id"]

    async def kill():
        async with server.events() as events, server.kernel(kernel) as notebook:
            [pid, _, _] = (await notebook.run(ASK)).split(maxsplit=2)
            os.kill(int(pid), signal.SIGKILL)
            return await events.verdict()

    assert asyncio.run(kill())["notebook"].endswith("work.ipynb")
    server.ask(f"api/kernels/{kernel}", "DELETE")


def test_a_crash_is_told_with_its_cell(server):
    kernel = server.start_kernel()
    crash = "import ctypes\nctypes.string_at(0)"

    async def die():
        async with server.events() as events, server.kernel(kernel) as notebook:
            await notebook.run("x = 1")
            notebook.send(crash)
            return await events.verdict()

    event = asyncio.run(die())
    assert event["verdict"] == "segmentation_fault"
    assert event["place"] == "cell [2] line 2"
    server.ask(f"api/kernels/{kernel}", "DELETE")


def test_a_program_that_is_not_there_is_told_as_ever(environment):
    place = environment.private / "data" / "kernels" / "gone"
    place.mkdir(parents=True)
    spec = {"argv": ["/gone/python", "-f", "{connection_file}"], "display_name": "gone"}
    (place / "kernel.json").write_text(json.dumps({**spec, "language": "python"}))
    # A server of its own: Jupyter does not end well after a kernel that could not be started.
    with Server(environment) as server:
        assert server.ask("api/kernels", "POST", {"name": "gone"})[0] == 500
    assert any("No such file or directory: '/gone/python'" in line for line in server.log)


def test_a_kernel_of_another_language_is_started_as_ever(environment, server):
    place = environment.private / "data" / "kernels" / "shell"
    place.mkdir(parents=True)
    code = 'echo "$OUTLIVE_RUN_DIR $PPID" > "$0"; exec sleep 60'
    told = environment.private / "told"
    os.mkfifo(told)
    spec = {"argv": ["sh", "-c", code, str(told), "{connection_file}"], "display_name": "shell"}
    (place / "kernel.json").write_text(json.dumps({**spec, "language": "shell"}))

    async def start():
        ask = asyncio.get_running_loop().run_in_executor
        asked = ask(None, server.ask, "api/kernels", "POST", {"name": "shell"})
        return await ask(None, told.read_text), await asked

    words, (_, model) = asyncio.run(start())
    assert words.split() == [str(server.process.pid)]
    server.ask(f"api/kernels/{model['id']}", "DELETE")


def test_a_kernel_ends_with_its_server(environment):
    server = Server(environment)
    kernel = server.start_kernel()

    async def look():
        async with server.kernel(kernel) as notebook:
            return int((await notebook.run(ASK)).split()[0])

    watched = os.pidfd_open(asyncio.run(look()))
    server.process.kill()
    [ready, _, _] = select.select([watched], [], [], 30)
    os.close(watched)
    server.close()
    assert ready


def test_neither_a_shutdown_nor_a_restart_is_a_death(server):
    first, second = server.start_kernel(), server.start_kernel()

    async def end_both():
        ask = asyncio.get_running_loop().run_in_executor
        async with server.events() as events:
            async with server.kernel(first) as notebook:
                [_, _, before] = (await notebook.run(ASK)).split(maxsplit=2)
            await ask(None, server.ask, f"api/kernels/{first}/restart", "POST")
            async with server.kernel(first) as notebook:
                [_, _, after] = (await notebook.run(ASK)).split(maxsplit=2)
            assert before != after
            await ask(None, server.ask, f"api/kernels/{first}", "DELETE")
            # Nothing was told of the first: the second's death is the first event.
            async with server.kernel(second) as notebook:
                [pid, _, _] = (await notebook.run(ASK)).split(maxsplit=2)
            os.kill(int(pid), signal.SIGKILL)
            return await events.verdict()

    assert asyncio.run(end_both())["kernel_id"] == second
    assert server.ask(f"outlive/kernels/{first}/verdict") == (200, None)
    server.ask(f"api/kernels/{second}", "DELETE")


def test_a_restarted_kernel_is_guarded_again(server):
    kernel = server.start_kernel()

    async def kill_and_ask():
        async with server.events() as events, server.kernel(kernel) as notebook:
            [pid, _, before] = (await notebook.run(ASK)).split(maxsplit=2)
            os.kill(int(pid), signal.SIGKILL)
            await events.verdict()
            # The server starts it again by itself, and tells its front ends.
            await notebook.restarting()
            [_, _, after] = (await notebook.run_again(ASK)).split(maxsplit=2)
            return before, after

    before, after = asyncio.run(kill_and_ask())
    assert before != after
    _, answer = server.ask(f"outlive/kernels/{kernel}/status")
    assert answer["guarded"] is True
    assert answer["run"] == Path(after.strip()).name
    # What was found of the death before stays to be read.
    assert server.ask(f"outlive/kernels/{kernel}/verdict")[0] == 200
    server.ask(f"api/kernels/{kernel}", "DELETE")


@pytest.mark.parametrize("version", [1, 2])
def test_the_machines_own_kill_is_told_as_out_of_memory(environment, version):
    with cgroup.group_of(version, 700 * cgroup.MIB) as group:
        with Server(environment, preexec_fn=group.enter) as server:
            kernel = server.start_kernel()

            async def take():
                async with server.events() as events, server.kernel(kernel) as notebook:
                    notebook.send("first = 1")
                    notebook.send(TAKE.format(size=2 * cgroup.GIB))
                    return await events.verdict()

            event = asyncio.run(take())
            assert server.ask("api/status")[0] == 200
        assert group.kills() == 1
    assert event["verdict"] == "out_of_memory_cgroup"
    assert event["confidence"] == "proved"
    assert event["headline"] == "Kernel killed: out of memory"
    # No line asked for that memory in a way that can be seen; the cell is known.
    assert event["place"].startswith("cell [2]")
    assert event["advice"]


def test_a_kernel_starts_without_outlive_where_that_fails(environment):
    with Server(environment, "--OutliveProvisioner.limit=nonsense") as server:
        kernel = server.start_kernel()

        async def look():
            async with server.kernel(kernel) as notebook:
                return await notebook.run(ASK)

        [_, parent, _] = asyncio.run(look()).split(maxsplit=2)
        # No `outlive run` between the two.
        assert int(parent) == server.process.pid
        assert server.ask(f"outlive/kernels/{kernel}/status") == (200, {"guarded": False})
    told = [line for line in server.log if "without Outlive" in line]
    assert len(told) == 1


def test_another_provisioner_that_was_chosen_stays(environment):
    chosen = "--KernelProvisionerFactory.default_provisioner_name=local-provisioner-of-mine"
    with Server(environment, chosen) as server:
        assert server.ask("api/status")[0] == 200
    assert any("`local-provisioner-of-mine` is configured" in line for line in server.log)
