// The run as all panels see it: its sensors, its actors, its status, and what the user has chosen.

import { carried, mounted, poseOf } from './space.js';

const snapshotType = 'raybridge_msgs/msg/Snapshot';
const always = ['sensor.other.transform', 'sensor.other.snapshot', 'sensor.other.lane_marks'];
const statusEvery = 1000; // ms
const keptSnapshots = 64; // pictures are older than the newest snapshot, and boxes are drawn as they were

export class Run {
  constructor(link, api) {
    this.link = link;
    this.api = api;
    this.sensors = []; // as GET /v1/sensors has them
    this.known = false; // whether they were read
    this.listed = []; // actors as GET /v1/actors has them
    this.actors = new Map(); // by id, those of the newest snapshot
    this.past = []; // newest last: {stamp, actors}
    this.names = new Map(); // by id, of actors that came by frames: whoever brought them has named them
    this.time = null; // {paused, scale, source, sec, nanosec}
    this.stamp = 0; // of the newest snapshot, seconds
    this.status = null;
    this.before = null; // the status before that
    this.problem = null; // why there is no status
    this.chosen = null; // {actor} or {point}, shown by the view
    this.watchers = new Set();
    this.sampled = new Set(); // functions that are called with each status
    this.begun = new Set(); // functions that are called when time has begun anew: another run, or this one was reset
    link.watch(() => this.follow());
    setInterval(() => link.state.phase === 'open' && !document.hidden && this.refresh(), statusEvery);
  }

  watch(changed) { this.watchers.add(changed); }
  changed() { this.watchers.forEach((tell) => tell()); }

  get ego() { return this.actors.get(0); }

  // empty says that the run has no sensor besides those that every run with a page has.
  get empty() { return this.known && this.sensors.every((s) => always.includes(s.type)); }

  // unbegun says that time doesn't pass yet though nobody has paused the run.
  get unbegun() { return this.status?.wall_s === 0 && !this.time.paused; }

  // waiting says why there is none yet of what is shown.
  waiting(thing) {
    return this.time?.paused ? `The run is paused and has no ${thing} yet: press n for a step, or space.` : `Waiting for the first ${thing}…`;
  }

  ofType(...types) { return [...this.link.streams.values()].filter((s) => types.includes(s.type)); }

  choose(chosen) {
    this.chosen = chosen;
    this.changed();
  }

  // follow takes a new list of streams.
  follow() {
    const { phase, reason } = this.link.state;
    if (this.link.restarted) {
      this.link.restarted = false;
      this.actors = new Map();
      this.listed = this.sensors = [];
      this.known = false;
      this.chosen = this.status = this.time = null;
      this.begin();
    }
    const key = `${phase} ${reason} ${this.link.instance} ${[...this.link.streams.keys()]}`;
    if (key !== this.key) {
      this.key = key;
      const [snapshots] = this.ofType(snapshotType);
      if (snapshots && snapshots.name !== this.snapshots) {
        this.unheard?.();
        this.snapshots = snapshots.name;
        this.unheard = this.link.listen(snapshots.name, (frame) => this.take(frame));
      }
      if (phase === 'open') {
        this.problem = null; // of the time before
        this.readSensors();
        this.refresh();
      }
    }
    if (phase === 'unreachable') this.refresh(); // with each attempt: the answer may say why
    this.changed();
  }

  // begin forgets what belongs to a time that is gone.
  begin() {
    this.stamp = 0;
    this.past = [];
    this.before = null;
    this.begun.forEach((tell) => tell());
  }

  take({ message, stamp }) {
    if (stamp < this.stamp) this.begin();
    this.stamp = stamp;
    if (message.actors.length !== this.actors.size) this.readActors(); // somebody has come or gone
    this.actors = new Map(message.actors.map((a) => [a.id, {
      ...a, pose: poseOf(a.pose), centre: xyz(a.box_center), half: xyz(a.box_half), velocity: xyz(a.twist.linear),
    }]));
    this.past.push({ stamp, actors: this.actors });
    if (this.past.length > keptSnapshots) this.past.shift();
  }

  // actorsAt returns the actors of the snapshot nearest to a time.
  actorsAt(stamp) {
    const nearer = (a, b) => (Math.abs(b.stamp - stamp) < Math.abs(a.stamp - stamp) ? b : a);
    return this.past.reduce(nearer, { stamp: Infinity, actors: this.actors }).actors;
  }

  // poseOf returns where a sensor is now, by how it is mounted; null where that isn't known.
  poseOf(sensor) {
    const carrier = this.actors.get(sensor.attached_to ?? 0);
    if (!carrier || !sensor.pose) return null;
    let pose = mounted(sensor.pose);
    let parent = sensor.parent;
    for (let depth = 0; parent && parent !== 'base_link' && depth < 16; depth++) {
      const above = this.sensors.find((s) => s.frame === parent || s.name === parent);
      if (!above?.pose) break;
      pose = carried(mounted(above.pose), pose);
      parent = above.parent;
    }
    return carried(carrier.pose, pose);
  }

  nameOf(actor) {
    // A type's last part is what it is, or a number: walker.pedestrian.0002.
    const kind = actor.type_id.split('.').findLast((part) => !/^\d+$/.test(part)) ?? actor.type_id;
    return this.names.get(actor.id) ?? (actor.id === 0 ? 'ego' : `${kind} ${actor.id}`);
  }

  // readActors asks who is there, by their names, and which of them frames may move.
  async readActors() {
    const answer = await this.api.get('/v1/actors').catch(() => null); // the status says why
    if (!answer) return;
    this.listed = answer.actors;
    this.names = new Map(answer.actors.filter((a) => !a.own).map((a) => [a.handle, a.name]));
    this.changed();
  }

  async readSensors() {
    const answer = await this.api.get('/v1/sensors').catch(() => null); // the status says why, and they are read again after it
    this.known = answer !== null;
    if (!answer) return;
    this.sensors = answer.sensors;
    this.changed();
  }

  async refresh() {
    if (this.asking) return;
    this.asking = true;
    try {
      this.keep(await this.api.get('/v1/status'));
    } catch (error) {
      this.problem = error;
    }
    this.asking = false;
    if (!this.problem) {
      this.sampled.forEach((take) => take(this.status, this.before));
      if (!this.known) this.readSensors();
    }
    this.changed();
  }

  // keep takes a new status.
  keep(status) {
    const [now, before] = [status, this.status].map((s) => (s ? s.time.sec + s.time.nanosec / 1e9 : 0));
    if (now < before) this.begin();
    this.before = now < before ? null : this.status;
    this.status = status;
    this.time = status.time;
    this.problem = null;
  }

  // act does what a control asks for, and says what came of it.
  async act(request) {
    let answer = null;
    let words = '';
    try {
      answer = await request(this.api);
    } catch (error) {
      words = error.message;
    }
    if (answer?.source) this.time = answer;
    this.complain(words);
    return answer;
  }

  // complain shows what went wrong, until something goes well.
  complain(words) {
    this.complaint = words;
    this.changed();
  }
}

const xyz = (v) => [v.x, v.y, v.z];
