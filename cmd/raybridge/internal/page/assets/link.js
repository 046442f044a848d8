// The page's end of the connection: which streams there are, who listens to which, and the credits that
// tell the server what was drawn.

export class Link {
  constructor(address, token) {
    this.address = address;
    this.state = { phase: 'connecting', reason: '' };
    this.streams = new Map(); // descriptions by name
    this.byId = new Map();
    this.listeners = new Map(); // functions with their credits, by a stream's name
    this.received = new Map(); // {messages, bytes} by a stream's name, since the page was loaded
    this.missed = new Map(); // {dropped, cause} by a stream's name, as the server tells
    this.drawn = new Map(); // messages by a stream's id that were shown since the last credit
    this.watchers = new Set();
    this.picks = new Set();
    this.whole = false; // clouds come whole, not thinned
    this.fault = ''; // the last thing that the server or a decoder complained of
    this.worker = new Worker(new URL('./worker.js', import.meta.url), { type: 'module' });
    this.worker.onmessage = ({ data }) => this.take(data);
    this.connect(token);
  }

  // connect begins again with a token.
  connect(token) {
    this.token = token;
    this.change({ phase: 'connecting', reason: '' });
    this.worker.postMessage({ connect: { address: this.address, token } });
  }

  // watch calls a function whenever the state or the list of streams has changed.
  watch(changed) {
    this.watchers.add(changed);
    changed();
  }

  // listen calls a function with each message of a stream, from when there is one of that name. It returns
  // what ends that. Whoever keeps a frame's picture, and closes its bitmap, returns true. A sensor that nobody listens to computes nothing, so panels listen only to what they show. credits are how many
  // messages may be on their way: more than two where each counts, as in plots.
  listen(name, heard, credits = 2) {
    if (!this.listeners.has(name)) this.listeners.set(name, new Map());
    const set = this.listeners.get(name);
    const before = Math.max(0, ...set.values());
    set.set(heard, credits);
    if (credits > before && this.streams.has(name)) this.send({ subscribe: name, credits });
    return () => {
      if (!set.delete(heard) || set.size > 0) return;
      this.listeners.delete(name);
      if (this.streams.has(name)) this.send({ unsubscribe: name });
    };
  }

  // send sends one command. Without a connection it does nothing: what holds is sent with the next one.
  send(command) {
    this.worker.postMessage({ send: command });
  }

  thin(thinned) {
    this.whole = !thinned;
    this.send({ thin: thinned });
  }

  // settle gives credits for what was drawn. The page calls it after drawing, so that a hidden or a
  // slow page gets less, and none of it late.
  settle() {
    for (const [stream, n] of this.drawn) this.send({ credit: { stream, n } });
    this.drawn.clear();
  }

  take(data) {
    if (data.frame) this.message(data.frame);
    else if (data.state) this.phase(data);
    else if (data.stream) this.add(data.stream);
    else if (data.gone) this.remove(data.gone);
    else if (data.losses) this.lost(data.losses);
    else if (data.text?.picked) this.picks.forEach((take) => take(data.text.picked));
    else if (data.text?.error) this.complain(data.text.error);
  }

  message(frame) {
    const stream = this.byId.get(frame.stream);
    this.drawn.set(frame.stream, (this.drawn.get(frame.stream) ?? 0) + 1);
    if (!stream) {
      frame.picture?.bitmap.close();
      return;
    }
    const count = this.received.get(stream.name) ?? { messages: 0, bytes: 0 };
    count.messages++;
    count.bytes += frame.bytes;
    this.received.set(stream.name, count);
    if (frame.fault) this.complain(`${stream.name}: ${frame.fault}`);
    else if (!this.hand(frame, stream)) frame.picture?.bitmap.close(); // its memory would stay until the next collection
  }

  // hand gives a frame to those who listen, and returns whether one keeps its picture.
  hand(frame, stream) {
    const heard = [...this.listeners.get(stream.name)?.keys() ?? []];
    return heard.map((take) => take(frame, stream)).includes(true);
  }

  phase({ state, reason, instance, streams }) {
    if (state === 'open') {
      this.restarted = this.instance !== undefined && this.instance !== instance;
      this.instance = instance;
      this.streams.clear();
      this.byId.clear();
      this.drawn.clear();
      if (this.restarted) this.missed.clear();
      if (this.whole) this.send({ thin: false });
      streams.forEach((s) => this.keep(s));
    }
    // A run that has ended leaves a server that can't be reached: that is no news.
    if (this.state.phase === 'ended' && state === 'unreachable') return;
    this.change({ phase: state, reason });
  }

  keep(stream) {
    this.streams.set(stream.name, stream);
    this.byId.set(stream.id, stream);
    const set = this.listeners.get(stream.name);
    if (set) this.send({ subscribe: stream.name, credits: Math.max(...set.values()) });
  }

  add(stream) {
    this.keep(stream);
    this.change(this.state);
  }

  remove(id) {
    const stream = this.byId.get(id);
    if (stream && this.streams.get(stream.name) === stream) this.streams.delete(stream.name);
    this.change(this.state);
  }

  lost(list) {
    for (const { name, dropped, cause } of list) this.missed.set(name, { dropped, cause });
  }

  // complain tells of a fault once, however often it comes.
  complain(fault) {
    if (fault !== this.fault) this.change(this.state, fault);
  }

  change(state, fault = '') {
    this.state = state;
    this.fault = fault;
    this.watchers.forEach((changed) => changed());
  }
}
