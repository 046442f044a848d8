// Driving the ego by keys, where its driver is external. A command holds for half a second, so that one is sent five times a
// second while this is on; letting go of the keys brakes gently.

const every = 200; // ms
const turnStep = 0.25; // of the wheel, a command

export class Drive {
  // changed is told whether the keys drive now.
  constructor(run, keys, changed) {
    this.run = run;
    this.keys = keys;
    this.changed = changed;
    this.wheel = 0;
  }

  toggle() {
    if (this.timer) {
      this.stop();
      return;
    }
    this.timer = setInterval(() => this.command(), every);
    this.changed(true);
  }

  stop() {
    clearInterval(this.timer);
    this.timer = null;
    this.wheel = 0;
    this.changed(false);
  }

  async command() {
    if (this.asking) return; // a slow answer must not queue commands
    const down = (...keys) => keys.some((k) => this.keys.held.has(k));
    const want = Number(down('d', 'arrowright')) - Number(down('a', 'arrowleft'));
    this.wheel += Math.min(Math.max(want - this.wheel, -turnStep), turnStep);
    const body = { throttle: down('w', 'arrowup') ? 0.6 : 0, brake: down('s', 'arrowdown') ? 0.8 : 0, steering: this.wheel };
    // Where somebody else drives, the run says so, and asking again would say the same.
    this.asking = true;
    const answer = await this.run.act((api) => api.post('/v1/ego/control', body));
    this.asking = false;
    if (!answer) this.stop();
  }
}
