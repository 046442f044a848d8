// The run's HTTP API: openapi.yaml at /v1/openapi.yaml has every request.

const longest = 10_000; // ms that an answer to GET may take

export class Api {
  constructor(token) {
    this.token = token;
  }

  // call sends a request and returns the answer. Errors have the server's own words, and its status.
  // A question has an end; a step may take as long as it takes.
  async call(method, path, body) {
    const headers = {};
    if (this.token) headers.Authorization = `Bearer ${this.token}`;
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    const signal = method === 'GET' ? AbortSignal.timeout(longest) : undefined;
    let response;
    let text;
    try {
      response = await fetch(path, { method, headers, signal, body: body === undefined ? undefined : JSON.stringify(body) });
      text = await response.text();
    } catch (error) {
      throw new ApiError(error.name === 'TimeoutError' ? `the run gave no answer to ${path} for ${longest / 1000} s` : 'the run can\'t be reached', 0);
    }
    let answer = {};
    try {
      answer = JSON.parse(text);
    } catch {
      answer.error = text.slice(0, 400);
    }
    if (!response.ok) throw new ApiError(answer.error ?? response.statusText, response.status);
    return answer;
  }

  get(path) { return this.call('GET', path); }
  post(path, body) { return this.call('POST', path, body); }
  put(path, body) { return this.call('PUT', path, body); }
  remove(path) { return this.call('DELETE', path); }
}

export class ApiError extends Error {
  constructor(message, status) {
    super(message);
    this.status = status;
  }
}
