"""How shards are given to actors, with actors that do as they are told; the real ones are in `test_ray_pool.py`."""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace
from typing import Any

import pytest

from nlgauge.apps.cluster import ray_pool
from nlgauge.apps.cluster.ray_pool import run_on_actors
from nlgauge.apps.cluster.shards import RowShard
from nlgauge.apps.cluster.tasks import Tasks
from nlgauge.apps.cluster.worker import Pass, Report
from nlgauge.errors import InputError, NlgaugeError, SignatureError


class RayError(Exception):
    """Stands for Ray's."""


class RayActorError(RayError):
    """Stands for Ray's."""


class FakeRay:
    """Answers in the order of the questions; an answer that is an error is raised."""

    exceptions = SimpleNamespace(RayError=RayError, RayActorError=RayActorError)

    def __init__(self) -> None:
        self.answers: dict[int, Any] = {}

    def ask(self, answer: Any) -> int:
        reference = len(self.answers)
        self.answers[reference] = answer
        return reference

    def wait(self, references: list[int], **_: Any) -> tuple[list[int], list[int]]:
        first = min(references)
        return [first], [one for one in references if one != first]

    def get(self, reference: int) -> Any:
        answer = self.answers[reference]
        if isinstance(answer, Exception) and not isinstance(answer, NlgaugeError):
            raise answer
        return answer


class FakeActor:
    """Dies, or fails, on shards that it is told to, as often as it is told to."""

    def __init__(self, ray: FakeRay, script: dict[int, list[Any]], later: Any = None) -> None:
        answers = deque([1])  # it is there in the beginning; later, it may be gone
        self.process = SimpleNamespace(remote=lambda: ray.ask(answers.popleft() if answers else later or 1))
        self.run = SimpleNamespace(remote=lambda _, shard: ray.ask(self._answer(script, shard)))

    def _answer(self, script: dict[int, list[Any]], shard: int) -> Any:
        left = script.get(shard)
        return left.pop(0) if left else Report(shard, 1, 0, 0.0, 0)


def run(script: dict[int, list[Any]], *, later: Any = None) -> Tasks:
    ray = FakeRay()
    tasks = Tasks([RowShard(number, number, number + 1, 0, (0,), 1) for number in range(6)])
    run_on_actors(ray, [FakeActor(ray, script, later) for _ in range(2)], Pass("score"), tasks)
    return tasks


def test_an_actor_that_died_is_given_shards_again_when_it_is_back() -> None:
    tasks = run({1: [RayActorError("killed")], 4: [RayActorError("killed"), RayError("lost\nan object")]})
    assert sorted(report.shard for report in tasks.reports) == [0, 1, 2, 3, 4, 5]
    assert tasks.failed == {}


def test_a_shard_that_kills_every_actor_is_given_up() -> None:
    tasks = run({2: [RayActorError("killed")] * 3, 3: ["RuntimeError: odd"] * 3})
    assert tasks.failed == {2: "the worker died", 3: "RuntimeError: odd"}
    assert sorted(report.shard for report in tasks.reports) == [0, 1, 4, 5]


def test_an_error_that_is_no_better_elsewhere_ends_the_run() -> None:
    with pytest.raises(SignatureError, match="other packages"):
        run({3: [SignatureError("other packages")]})


def test_workers_that_cannot_start_say_why() -> None:
    why = "The actor died by an error raised in its creation task\n..\nModuleNotFoundError: No module named 'x'"
    with pytest.raises(InputError, match="workers cannot start on the cluster: ModuleNotFoundError: No module named"):
        run({0: [RayActorError(why)]})


def test_an_actor_without_room_is_given_nothing() -> None:
    ray = FakeRay()
    tasks = Tasks([RowShard(number, number, number + 1, 0, (0,), 1) for number in range(6)])
    there, waiting = FakeActor(ray, {}), FakeActor(ray, {})
    never = 10**9  # an answer that does not come: `wait` gives the first reference
    ray.answers[never] = None
    waiting.process = SimpleNamespace(remote=lambda: never)
    waiting.run = SimpleNamespace(remote=lambda *_: pytest.fail("it has not answered yet"))
    run_on_actors(ray, [waiting, there], Pass("score"), tasks)
    assert len(tasks.reports) == 6


def test_a_cluster_without_room_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[str] = []
    monkeypatch.setattr(ray_pool, "_PATIENCE_SECONDS", 0.0)
    monkeypatch.setattr(Tasks, "tell", lambda _, text: told.append(text))
    ray, looks = FakeRay(), [1, 2, 3]

    def wait(references: list[int], **_: Any) -> tuple[list[int], list[int]]:
        """Nobody is there at first."""
        if looks:
            looks.pop()
            return [], references
        return FakeRay.wait(ray, references)

    monkeypatch.setattr(ray, "wait", wait)
    tasks = Tasks([RowShard(0, 0, 1, 0, (0,), 1)])
    run_on_actors(ray, [FakeActor(ray, {})], Pass("score"), tasks)
    assert told == ["the cluster has had no room for a worker for 0 s; still waiting"]
    assert len(tasks.reports) == 1


def machine(**resources: float) -> dict[str, Any]:
    return {"Alive": True, "Resources": resources}


def test_workers_are_as_many_as_fit_on_machines_each() -> None:
    gigabyte = 2**30
    machines = [machine(CPU=3.0, memory=10.0 * gigabyte), machine(CPU=8.0, memory=4.0 * gigabyte), machine()]
    machines.append({"Alive": False, "Resources": {"CPU": 64.0}})
    assert ray_pool._room_for(machines, 1, None) == 11
    assert ray_pool._room_for(machines, 2, None) == 5
    assert ray_pool._room_for(machines, 1, 2 * gigabyte) == 3 + 2
    with pytest.raises(InputError, match=r"a worker of 16 processors \(the most: 8\); .* --workers N to wait"):
        ray_pool._room_for(machines, 16, None)
    with pytest.raises(InputError, match=r"of 1 processors and 20 GB \(the most: 8 and 10\.0 GB\)"):
        ray_pool._room_for(machines, 1, 20 * gigabyte)


def test_no_actor_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ray_pool, "_RESTART_SECONDS", 0.0)
    with pytest.raises(InputError, match="no worker is left on the cluster"):
        run({number: [RayActorError("killed")] * 3 for number in range(6)}, later=RayActorError("gone"))
