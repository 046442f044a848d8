"""python3 -m raybridge._bench ADDRESS RUNS SECONDS: what `raybridge bench python` measures, as JSON.

The run is paused, and a step of it is 10 ms. It has no sensor, or one called "ready" with a picture
or several in each step."""
import json
import statistics
import sys
import time
from typing import Any, Callable, Dict, List

import raybridge as rb


def main(address: str, runs: int, seconds: float) -> None:
    figures: List[Dict[str, Any]] = []

    def measure(name: str, unit: str, note: str, step: Callable[[], int], of: Callable[[List[float], float, int], float]) -> None:
        values = []
        for run in range(runs + 1):
            took: List[float] = []
            things, cpu, begun = 0, time.thread_time(), time.perf_counter()
            while not took or time.perf_counter() < begun + seconds:
                before = time.perf_counter()
                things += step()
                took.append(1e3 * (time.perf_counter() - before))
            if run:  # the first one warms up
                values.append(of(took, 1e3 * (time.thread_time() - cpu), things))
        figures.append({"Name": f"python.{name}", "Unit": unit, "Note": note, "Runs": values})

    def median(took: List[float], cpu: float, things: int) -> float:
        return statistics.median(took)

    with rb.connect(address) as sim:
        def empty() -> int:
            sim.step(0.01)
            return 1

        def poses() -> int:
            sim.step(0.01, {car: rb.Pose(6 * (i % 50), 3 * (i // 50)) for i, car in enumerate(cars)})
            return 1

        def look() -> int:
            return sum(int(picture[0, 0, 0]) + 1 for picture in sim.step(0.01).all("ready/image"))

        if "ready/image" in sim.sensors:
            way = "views of shared memory" if address.startswith("unix:") else "copies"
            count = look()
            measure(f"pictures_{count}_per_s", "frames/s", f"1280x720, {way}", look, lambda took, cpu, things: 1e3 * things / sum(took))
        else:
            measure("empty_step_ms", "ms", "median of a run's steps", empty, median)
            measure("cpu_ms", "ms", "Python's own, of an empty step", empty, lambda took, cpu, things: cpu / things)
            cars = [sim.spawn("vehicle.sedan", x=6 * (i % 50), y=3 * (i // 50)) for i in range(200)]
            sim.step(0.01)
            measure("step_200_ms", "ms", "median of a run's steps", poses, median)
    print(json.dumps(figures))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]))
