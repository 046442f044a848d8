// Package pipeline joins the parts: a scene, sensors on their time grids, the GL
// thread, readback, the dispatcher and the bridges. It is what the raybridge
// program runs, and what other programs embed.
//
// # Usage
//
// Make a Pipeline with New, add sensors and bridges, listen to outputs, then
// Run it, or Step it:
//
//	p, err := pipeline.New(ctx, pipeline.Config{Scene: city, Open: eglctx.Open(eglctx.Options{}), Sensors: all.Registry()})
//	cam, err := p.AddSensor(sensors.Config{ID: "sensor.camera.rgb", Name: "front"})
//	pictures, err := pipeline.Listen(cam, "image", func(at sensors.Tick, m *sample.Image) { ... })
//	err = p.Run(ctx, 10*time.Second)
//	err = p.Close(ctx)
//
// Sensors and actors come and go while it runs: AddSensor with AttachTo, Sensor.Destroy,
// SpawnActor, Actor.Destroy. Sensor, SensorsOf, Actor and Actors look them up. Steps in
// which each firing has to be accounted for are made by StepSensors; NextDue and DueAt
// tell what is to come.
//
// # Concurrency
//
// AddBridge comes before the first Run or Step. One goroutine at a time calls Run, Step or
// StepSensors. All the rest may be called from any goroutine at any time up to Close. Callbacks may
// call it too, except what waits for them: StepTo, StepRunning, Reset, and Wait of a sensor or a listener. Callbacks run on the pipeline's goroutines, never on the GL thread. They may
// read the message until they return, and hold up what comes after it.
//
// A sensor that is added to a pipeline that has started is begun on the caller's goroutine,
// while the loops continue. It joins at the next instant and fires first on its grid a whole
// period after that. One that is destroyed ends when nobody works with it any more: the
// instants that were begun are completed with it.
//
// # Ordering
//
// In a stepped run everything that belongs to one instant is published before anything of the
// next. /clock comes first, then the sensors that fire each frame, then the others, each in the
// order they were added. So two runs of one configuration give the same bytes (law T5). In a
// realtime run each output keeps its own order, and what fires each frame is ahead of all else
// that needs no GPU. In both no bridge is given a sample before a /clock of its stamp (law T4);
// one that connects late gets a clock first.
//
// Time passes in runs only, unless its source is driven from outside. Pause holds a run of
// either mode where it is, also when it came before the run; a realtime run then continues to
// publish /clock. Steps of a paused run visit every instant and lose nothing, in a realtime run
// as in a stepped one. Otherwise a realtime run that is late continues from where the clock is,
// and each sensor fires once for its latest instant (law T3).
//
// Every instant at which anything happens, be it a step's end or a clock's tick alone, is a
// frame. They are counted from 0 over all runs and jumps, with or without listeners.
//
// If the clock jumps, a run continues from the new time for the rest of its length, and sensors
// fire on the grid that they find there. Before a /clock that goes back, everything captured
// before is published.
//
// # Failure
//
// A lost context, a recording that can't be written and a sensor's error end the run. Run
// returns it, now and whenever it is called again, and Close still completes what was recorded.
// The end of Run's context isn't a failure: every instant that was begun is published whole, and
// another Run continues without a gap. A listener that panics is counted and logged, and ends
// nothing. Dropped messages are counted by cause in the Summary (law S5). The instants that a
// late realtime loop skips are counted there, too, as skipped.
//
// # Testing
//
// A pipeline runs on any gpu.Opener: tests use a software context, or gpu/gputest's.
package pipeline
