// Package world has the sensors that report ground truth of the world around their
// owner: collisions, lane marks that a vehicle crosses, traffic lights, and snapshots of
// all actors. None of them needs a GPU.
package world
