// Package motion has the sensors that tell where their owner is and how it moves: the
// inertial measurement unit, the satellite receivers, odometry, coordinate frames, and
// what a vehicle reports of itself. Clock, the simulation time on its own topic, is
// here too. None of them needs a GPU; all read the history of the scene.
//
// # Controls
//
// CANBus, VehicleOdometry and Speedometer come from the motion of the actor that the
// sensor rides on; where the sensor is mounted changes nothing but the header's pose.
//
// Steering, throttle and brake are those that drive the vehicle where it is driven, and
// else derived from how it moves (scene.Vehicle.ControlsOf): one that follows a path at
// constant speed uses neither pedal. The gear is reverse where it rolls or sets off
// backwards, else drive, as SVL has it. The engine is on, lights and wipers are off.
//
// # Engine
//
// EngineRPM is that of an engine with one overall ratio of 4 to wheels of 0.33 m
// radius, which idles at 800 turns a minute: a figure that rises with the speed, not a
// model of a gearbox.
package motion
