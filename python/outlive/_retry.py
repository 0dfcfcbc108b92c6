"""`outlive.retry`: tries again with less when memory runs out, after the failed attempt is gone."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Iterator, Mapping
from typing import Any, Callable, SupportsIndex, TypeVar, cast

from outlive._argument import Argument
from outlive._native import NativeExit
from outlive._recovery import release
from outlive._series import Series

_Function = TypeVar("_Function", bound=Callable[..., Any])


def retry(*, at_least: int | Mapping[str, int] = 1, **arguments: int) -> Retry:
    """Tries again with a smaller argument when memory runs out, of the host or of a GPU.

    As a decorator it passes the arguments by name; a value that the caller passes is the start
    instead:

        @outlive.retry(batch_size=64)
        def train(model, batch_size): ...

    As an iterator it gives attempts until one succeeds:

        for attempt in outlive.retry(batch_size=64):
            with attempt:
                train(model, attempt.batch_size)

    Between two attempts the variables of the failed one are dropped, the caches of the frameworks
    are emptied, and free memory goes back to the system. The argument is halved, or made as much
    smaller as the guard's figures say. Of several arguments the first is shrunk down to its floor,
    then the next. One line on the logger `outlive` says so each time. At the floor the error of the
    last attempt is raised as it is, and any other error at once.

    Args:
        at_least: The floor: of all arguments, or by name.
        **arguments: Names and start values, whole numbers.

    Raises:
        ValueError: No argument is named, or a floor does not fit its argument.
        TypeError: A value is not a whole number.
    """
    if not arguments:
        raise ValueError("No argument to shrink\nhint: name one, `outlive.retry(batch_size=64)`")
    starts = {name: _whole_number(name, value) for name, value in arguments.items()}
    return Retry(starts, _floors(starts, at_least))


class Retry:
    """What `outlive.retry` gives. It keeps nothing of a call, so threads can share it."""

    def __init__(self, starts: dict[str, int], floors: dict[str, int]) -> None:
        self._starts = starts
        self._floors = floors

    def __iter__(self) -> Iterator[Attempt]:
        return self._attempts("Attempt", self._starts)

    def __call__(self, function: _Function) -> _Function:
        """Wraps a function or a coroutine function.

        Raises:
            TypeError: It is a generator, or has no such argument.
        """
        name = getattr(function, "__name__", repr(function))
        if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
            message = (
                f"`{name}` is a generator, and what it gave cannot be taken back\n"
                "hint: inside it, use `for attempt in outlive.retry(…)`"
            )
            raise TypeError(message)
        arguments = [Argument.of(function, argument) for argument in self._starts]
        attempts = functools.partial(self._calls, f"`{name}`", arguments)
        wrap = _wrapped_coroutine if inspect.iscoroutinefunction(function) else _wrapped
        return cast("_Function", functools.wraps(function)(wrap(function, attempts)))

    def _calls(
        self,
        what: str,
        arguments: list[Argument],
        values: tuple[object, ...],
        named: dict[str, object],
    ) -> Iterator[tuple[Attempt, list[object], dict[str, object]]]:
        """Attempts at a call, each with what to pass."""
        starts = {
            argument.name: _whole_number(
                argument.name, argument.passed(values, named, self._starts[argument.name])
            )
            for argument in arguments
        }
        for attempt in self._attempts(what, starts):
            changed_values, changed_named = list(values), dict(named)
            for argument in arguments:
                argument.put(attempt.arguments[argument.name], changed_values, changed_named)
            yield attempt, changed_values, changed_named

    def _attempts(self, what: str, starts: dict[str, int]) -> Iterator[Attempt]:
        series = Series(what, starts, self._floors)
        while True:
            attempt = Attempt(series)
            yield attempt
            if attempt.outcome == _SUCCEEDED:
                return
            if attempt.outcome != _FAILED:
                raise RuntimeError(
                    "Attempt was not entered\nhint: put the work into `with attempt:`"
                )
            # Here, outside of any `except` clause, nothing holds the failed attempt any more.
            release()


_SUCCEEDED = "succeeded"
_FAILED = "failed"


class Attempt(NativeExit):
    """One attempt, a context manager. The arguments are its attributes.

    Attributes:
        arguments: The values to try, by name.
        outcome: `succeeded`, `failed` where memory ran out, or empty.
    """

    def __init__(self, series: Series) -> None:
        self._series = series
        self.arguments = dict(series.values)
        self.outcome = ""

    def __enter__(self) -> Attempt:
        self._series.begin()
        return self

    def goes_on_after(self, error: BaseException | None) -> bool:
        """Whether the block's error is swallowed; called by the native `__exit__`."""
        if error is None:
            self.outcome = _SUCCEEDED
            return False
        swallowed = self._series.goes_on_after(error)
        if swallowed:
            self.outcome = _FAILED
        return swallowed

    def __getattr__(self, name: str) -> int:
        try:
            return cast("int", self.__dict__["arguments"][name])
        except KeyError:
            raise AttributeError(f"Attempt has no argument `{name}`") from None

    def __repr__(self) -> str:
        return f"<outlive.retry attempt {self.arguments} {self.outcome}>"


def _wrapped(function: Callable[..., Any], attempts: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*values: object, **named: object) -> object:
        for attempt, changed_values, changed_named in attempts(values, named):
            with attempt:
                return function(*changed_values, **changed_named)
        return None

    return wrapper


def _wrapped_coroutine(
    function: Callable[..., Any], attempts: Callable[..., Any]
) -> Callable[..., Any]:
    async def wrapper(*values: object, **named: object) -> object:
        for attempt, changed_values, changed_named in attempts(values, named):
            with attempt:
                return await function(*changed_values, **changed_named)
        return None

    return wrapper


def _whole_number(name: str, value: object) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"Argument `{name}` must be a whole number to be shrunk, not `{value!r}`")
    return operator.index(cast("SupportsIndex", value))


def _floors(starts: dict[str, int], at_least: int | Mapping[str, int]) -> dict[str, int]:
    floors = dict.fromkeys(starts, 1)
    given = at_least if isinstance(at_least, Mapping) else dict.fromkeys(starts, at_least)
    for name, floor in given.items():
        if name not in starts:
            raise ValueError(f"Floor for `{name}`, which is not an argument to shrink")
        floors[name] = _whole_number(name, floor)
        if starts[name] < floors[name]:
            raise ValueError(f"Start of `{name}` is {starts[name]}, below its floor {floors[name]}")
    return floors
