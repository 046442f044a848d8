// The link that keeps the view: what the user has chosen stands in the address behind '#', so that the address
// can be copied, and a reloaded page looks the same.

const tokenKey = 'raybridge token';

export class Place {
  constructor() {
    this.values = new URLSearchParams(location.hash.slice(1));
    this.token = this.kept();
    const token = this.values.get('token');
    if (token !== null) {
      this.remember(token);
      this.values.delete('token'); // nobody shall see it over a shoulder, or copy it with the link
      this.put();
    }
    // An address that is pasted over this one changes what is behind '#' alone: the page wouldn't be loaded.
    window.addEventListener('hashchange', () => location.reload());
  }

  kept() {
    try {
      return sessionStorage.getItem(tokenKey) ?? '';
    } catch {
      return ''; // the browser keeps nothing for this page
    }
  }

  // remember keeps the token for this tab, so that reloading works where the browser lets the page keep something.
  remember(token) {
    this.token = token;
    try {
      sessionStorage.setItem(tokenKey, token);
    } catch {
      // it holds until the page is loaded again
    }
  }

  // read returns a text as it is, and anything else as JSON; otherwise where there is none, or none of that type. Of an object only
  // what otherwise has is read, and lists are of texts.
  read(key, otherwise) {
    const text = this.values.get(key);
    if (text === null || typeof otherwise === 'string') return text ?? otherwise;
    try {
      return alike(JSON.parse(text), otherwise);
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

// alike returns a value where it has the type of the usual one, which it returns else.
function alike(value, usual) {
  if (Array.isArray(usual)) return Array.isArray(value) && value.every((v) => typeof v === 'string') ? value : usual;
  if (typeof value !== typeof usual || value === null || Array.isArray(value)) return usual;
  if (typeof usual !== 'object') return value;
  return Object.fromEntries(Object.entries(usual).map(([key, each]) => [key, key in value ? alike(value[key], each) : each]));
}
