"""gym_env.py [STEPS]: an environment as Gymnasium has it. Without that package it is a plain class."""
import sys
from typing import Any, Dict, Optional, Tuple

import numpy as np

import raybridge as rb

try:
    import gymnasium  # type: ignore[import]
    Base: Any = gymnasium.Env
except ImportError:
    gymnasium, Base = None, object

RIG = {"sensors": [{"id": "sensor.camera.rgb", "name": "front", "rate": 10, "image_size_x": 84, "image_size_y": 84, "pose": {"x": 1.4, "z": 1.5}}]}


class KeepDistance(Base):  # type: ignore[misc]
    """Follow a car: the action is our speed, the reward is high 10 m behind it."""

    def __init__(self) -> None:
        if gymnasium is not None:
            self.observation_space = gymnasium.spaces.Box(0, 255, (84, 84, 3), np.uint8)
            self.action_space = gymnasium.spaces.Box(0.0, 20.0, (1,), np.float32)
        self.sim = rb.launch(scene="plane", rig=RIG)

    def reset(self, *, seed: Optional[int] = None, options: Any = None) -> Tuple[Any, Dict[str, Any]]:
        self.sim.reset(seed)
        self.car = self.sim.spawn("vehicle.sedan", x=15)
        self.random, self.x, self.lead, self.k = np.random.default_rng(seed), 0.0, 15.0, 0
        return self._see(), {}

    def step(self, action: Any) -> Tuple[Any, float, bool, bool, Dict[str, Any]]:
        self.x += 0.1 * float(action[0])
        self.lead += 0.1 * self.random.uniform(5, 10)
        self.k += 1
        gap = self.lead - self.x
        return self._see(), -abs(gap - 10), gap < 4, self.k >= 200, {"gap": gap}

    def _see(self) -> Any:
        frame = self.sim.step(0.1, {self.car: rb.Pose(self.lead, 0)}, ego=rb.Pose(self.x, 0))
        return frame["front/image"]

    def close(self) -> None:
        self.sim.close()


if __name__ == "__main__":
    env = KeepDistance()
    observation, info = env.reset(seed=1)
    for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 30):
        observation, reward, terminated, truncated, info = env.step([7.5])
        print(f"gap {info['gap']:.1f} m, reward {reward:.1f}, brightness {observation.mean():.0f}")
        if terminated or truncated:
            observation, info = env.reset()
    env.close()
