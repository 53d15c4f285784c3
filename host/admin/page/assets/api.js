// Requests to the API.

const root = '/api/v1/';

// An APIError is why a request failed: status is that of HTTP (0: there was no answer), code is stable, and the message is
// for people.
export class APIError extends Error {
  constructor(status, code, message) {
    super(message);
    this.name = 'APIError';
    this.status = status;
    this.code = code;
  }
}

// setTab keeps what the program knows this tab by, together with its cookie; null forgets it. Pages of other
// ports of the host get the cookie, but not this.
export function setTab(tab) {
  if (tab) sessionStorage.setItem('tab', tab);
  else sessionStorage.removeItem('tab');
}

// hasTab reports whether this tab was signed in, as far as it knows.
export const hasTab = () => sessionStorage.getItem('tab') !== null;

// ended is called when the session has ended.
let ended = () => {};

// onEnd sets what is done when the API does not know the session any more.
export function onEnd(f) {
  ended = f;
}

// changed is called when a request has changed something.
let changed = () => {};

// onChange sets what is done when something was changed from here.
export function onChange(f) {
  changed = f;
}

// tabHeaders are what a request has besides the cookie.
export const tabHeaders = () => ({'X-Mcpbelt-Tab': sessionStorage.getItem('tab') ?? ''});

// send makes a request and returns the answer, which is one that succeeded.
export async function send(method, path, {body, signal, headers = {}} = {}) {
  headers = {...headers, ...tabHeaders()};
  const init = {method, signal, headers, cache: 'no-store', credentials: 'same-origin', redirect: 'error'};
  if (body !== undefined) {
    init.body = JSON.stringify(body);
    init.headers = {...headers, 'Content-Type': 'application/json'};
  }
  let res;
  try {
    res = await fetch(path.startsWith('/') ? path : root + path, init);
  } catch (err) {
    if (err.name === 'AbortError') throw err;
    throw new APIError(0, 'unreachable', 'The program cannot be reached.');
  }
  if (res.ok) {
    if (method !== 'GET' && !path.startsWith('/admin/')) changed();
    return res;
  }
  const failure = await failureOf(res);
  if (res.status === 401 && !path.startsWith('/admin/')) ended(failure);
  throw failure;
}

// failureOf reads a problem (RFC 9457), or a failure in an envelope.
async function failureOf(res) {
  let data = {};
  try {
    data = (await res.json()) ?? {};
  } catch {
    // It has another form, such as that of a proxy.
  }
  const code = data.code && typeof data.code === 'string' ? data.code : String(data.error ?? '').replace(/^err\.mcp\./, '');
  return new APIError(res.status, code || 'unknown', data.detail || data.msg || `The program answered with status ${res.status}.`);
}

// call makes a request and returns what it is answered with: of an envelope, what is in it.
async function call(method, path, options) {
  const res = await send(method, path, options);
  if (res.status === 204) return null;
  const data = await res.json();
  return path.startsWith('mcp/servers') ? data.data : data;
}

// stream yields the server-sent events of an answer as {event, id, data}; signs of life are {}.
export async function* stream(res) {
  const reader = res.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  for (;;) {
    const {done, value} = await reader.read();
    if (done) return;
    rest += value;
    if (!value.includes('\n')) continue; // a part of what is long
    const blocks = rest.split('\n\n');
    rest = blocks.pop();
    for (const block of blocks) {
      const fields = {};
      for (const line of block.split('\n')) {
        const colon = line.indexOf(':');
        if (colon > 0) fields[line.slice(0, colon)] = line.slice(colon + 1).replace(/^ /, '');
      }
      yield fields;
    }
  }
}

export const get = (path, options) => call('GET', path, options);
export const post = (path, body, options) => call('POST', path, {...options, body});
export const put = (path, body, options) => call('PUT', path, {...options, body});
export const del = (path, options) => call('DELETE', path, options);

// at returns a path whose parts are escaped: at`servers/${name}/restart`.
export function at(texts, ...values) {
  return String.raw({raw: texts}, ...values.map(encodeURIComponent));
}

// isMissing reports whether an error says that the program does not have what was asked for.
export function isMissing(err) {
  return err instanceof APIError && (err.code === 'not_configured' || err.code === 'no_route');
}
