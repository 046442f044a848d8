// The link that keeps the view: what the user has chosen stands in the address behind '#', so that the address
// can be copied, and a reloaded page looks the same.

const tokenKey = 'raybridge token';

export class Place {
  constructor() {
    this.values = new URLSearchParams(location.hash.slice(1));
    this.token = sessionStorage.getItem(tokenKey) ?? '';
    const token = this.values.get('token');
    if (token !== null) {
      this.remember(token);
      this.values.delete('token'); // nobody shall see it over a shoulder, or copy it with the link
      this.put();
    }
    // An address that is pasted over this one changes what is behind '#' alone: the page wouldn't be loaded.
    addEventListener('hashchange', () => location.reload());
  }

  // remember keeps the token for this tab, so that reloading works.
  remember(token) {
    this.token = token;
    sessionStorage.setItem(tokenKey, token);
  }

  // read returns a text as it is, and anything else as JSON; otherwise where there is none, or none that can be read.
  read(key, otherwise) {
    const text = this.values.get(key);
    if (text === null || typeof otherwise === 'string') return text ?? otherwise;
    try {
      return JSON.parse(text);
    } catch {
      return otherwise;
    }
  }

  // write keeps a value. Of an object only what differs from the usual is kept.
  write(key, value, usual) {
    let text = value;
    if (typeof value !== 'string') {
      const kept = Array.isArray(value) ? value : Object.fromEntries(Object.entries(value).filter(([k, v]) => v !== usual?.[k]));
      text = Object.keys(kept).length > 0 ? JSON.stringify(kept) : '';
    }
    if (text === '' || text === usual) this.values.delete(key);
    else this.values.set(key, text);
    // Safari takes a hundred changes in half a minute: a drag has more.
    clearTimeout(this.later);
    this.later = setTimeout(() => this.put(), 300);
  }

  put() {
    const text = this.values.toString();
    history.replaceState(null, '', text ? `#${text}` : location.pathname);
  }
}
