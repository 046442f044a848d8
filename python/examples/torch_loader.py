"""torch_loader.py DIR [BATCHES]: batches of pictures, clouds and boxes for PyTorch, which two workers read."""
import itertools
import sys
from typing import Any, List, Tuple

import torch

import raybridge as rb


def collate(frames: List[rb.KeyFrame]) -> Tuple[Any, List[Any], List[List[rb.Box3D]]]:
    pictures = torch.stack([torch.from_numpy(camera.image()).permute(2, 0, 1) for f in frames for camera in f.cameras.values()])
    return pictures, [torch.from_numpy(lidar.points()) for f in frames for lidar in f.lidars.values()], [f.boxes() for f in frames]


loader = torch.utils.data.DataLoader(rb.Dataset(sys.argv[1]), batch_size=2, shuffle=True, num_workers=2, collate_fn=collate, persistent_workers=True)
epochs = itertools.chain.from_iterable(itertools.repeat(loader))
for n, (pictures, clouds, boxes) in enumerate(itertools.islice(epochs, int(sys.argv[2]) if len(sys.argv) > 2 else 1), 1):
    print(n, tuple(pictures.shape), [len(cloud) for cloud in clouds], [len(of) for of in boxes])
