// Shows apps of MCP servers in a page: see docs/apps.md.

const version = "2.0", maxHeight = 800;

// show puts an app into an element. The promise fails with an error that says why if the app cannot be shown.
//
//   call      what Options.Show of the program has sent: {id, title}
//   bridge    the path of the bridge, such as "/apps"
//   openLink  asks whether a link is opened: async (url) => boolean
//   context   more of the host context, such as {theme, locale, styles, containerDimensions}
//   headers   returns more header fields for each request: () => ({...})
//
// The app it returns has close(reason), update(context), ended, a promise of the reason, the element frame, and declared, the domains
// that the app reaches; null: none.
export async function show(element, { call, bridge, openLink = ask, context = {}, headers = () => ({}) }) {
  const base = new URL(bridge.replace(/\/*$/, "/"), location.href);
  const at = new URL(encodeURIComponent(call.id) + "/", base);
  const post = (url, body, signal) => postTo(url, body, headers, signal);
  const opened = await post(new URL("open", at), {});
  const sandbox = new URL(opened.sandbox).origin;
  const frame = document.createElement("iframe");
  frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms");
  frame.allow = opened.allow;
  frame.title = call.title ?? opened.title;
  frame.referrerPolicy = "no-referrer";
  frame.style.cssText = "display:block;width:100%;height:150px;border:" + (opened.prefersBorder ? "1px solid #8888" : "0");

  const waiting = new Map(); // of requests of the app that are under way, by their IDs
  const ended = Promise.withResolvers();
  let modes = null; // that the app has; null: it has not said
  let mode = "inline";
  let initialized = false;
  let asking = false, declined = 0; // about links
  let stop = () => {};
  let torn = null; // resolved when the app has said that it is ready to go
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const theme = () => context.theme ?? (dark.matches ? "dark" : "light");

  const send = (message) => frame.contentWindow?.postMessage({ jsonrpc: version, ...message }, sandbox);
  const notify = (method, params) => initialized && send({ method, params });
  const reply = (id, result) => id !== undefined && send({ id, result });
  const fail = (id, text, code = -32000) => id !== undefined && send({ id, error: { code, message: text } });

  function hostContext() {
    return {
      theme: theme(), displayMode: mode, availableDisplayModes: ["inline", "fullscreen"],
      containerDimensions: mode === "inline" ? { width: element.clientWidth, maxHeight } : { width: innerWidth, height: innerHeight - 36 },
      locale: navigator.language, timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone, platform: "web", userAgent: "mcpbelt",
      deviceCapabilities: { touch: navigator.maxTouchPoints > 0, hover: matchMedia("(hover: hover)").matches }, ...context,
    };
  }

  // Over an app that fills the window there is a bar of the program, by which people leave it.
  const bar = Object.assign(document.createElement("button"), { textContent: "✕ " + frame.title, onclick: () => setMode("inline") });
  bar.style.cssText = "position:fixed;inset:0 0 auto;height:36px;z-index:2147483647;font:14px sans-serif;text-align:left";

  function setMode(wanted) {
    if (!["inline", "fullscreen"].includes(wanted) || wanted === mode || (modes && !modes.includes(wanted))) return;
    mode = wanted;
    Object.assign(frame.style, mode === "inline" ? { position: "", inset: "", zIndex: "" } :
      { position: "fixed", inset: "36px 0 0", zIndex: "2147483647", height: "calc(100% - 36px)" });
    if (mode === "inline") bar.remove();
    else document.body.append(bar);
    notify("ui/notifications/host-context-changed", { displayMode: mode, containerDimensions: hostContext().containerDimensions });
  }

  function resize(height) {
    const most = context.containerDimensions?.maxHeight ?? maxHeight;
    if (mode === "inline" && Number.isFinite(height)) frame.style.height = Math.min(Math.max(height, 0), most) + "px";
  }

  // relay passes a message on to the program, and returns its answer.
  async function relay(message) {
    const abort = new AbortController();
    if (message.id !== undefined) waiting.set(message.id, abort);
    try {
      const answer = await post(new URL("message", at), message, abort.signal);
      return answer ?? {};
    } catch (error) {
      return { error: { code: -32000, message: error.message } };
    } finally {
      if (waiting.get(message.id) === abort) waiting.delete(message.id);
    }
  }

  async function answer(message) {
    const { id, method, params } = message;
    switch (method) {
      case "ui/notifications/initialized":
        if (!initialized) stop = listen(base, call.id, receive, post);
        initialized = true;
        return;
      case "ui/notifications/size-changed":
        return resize(params?.height);
      case "ui/notifications/request-teardown":
        return close("the app has asked for it");
      case "notifications/cancelled":
        return waiting.get(params?.requestId)?.abort();
      case "ui/request-display-mode":
        setMode(params?.mode);
        return reply(id, { mode });
    }
    const { result, error } = await relay(message);
    if (error || !result) return fail(id, error?.message ?? "the app was not answered", error?.code);
    if (method === "ui/initialize") {
      const has = params?.appCapabilities?.availableDisplayModes;
      modes = Array.isArray(has) ? has : null;
      result.hostContext = { ...result.hostContext, ...hostContext() };
    }
    if (method === "ui/open-link") {
      if (asking || declined > 2) return fail(id, "the user is not asked again");
      asking = true;
      const opens = await Promise.resolve(openLink(params.url)).finally(() => (asking = false));
      if (!opens) {
        declined++;
        return fail(id, "the user does not open the link");
      }
      window.open(params.url, "_blank", "noopener,noreferrer");
    }
    reply(id, result);
  }

  // hear takes what comes from the frame of this app, and of no other one.
  function hear(event) {
    const message = event.data;
    if (event.source !== frame.contentWindow || event.origin !== sandbox || message?.jsonrpc !== version) return;
    switch (message.method) {
      case "ui/notifications/sandbox-proxy-ready":
        return send({
          method: "ui/notifications/sandbox-resource-ready",
          params: { html: opened.html, sandbox: "allow-scripts allow-forms", csp: opened.csp ?? undefined, permissions: opened.permissions, allow: opened.allow },
        });
      case "ui/notifications/sandbox-ended":
        initialized = false;
        return close(message.params?.reason);
      case undefined:
        return message.id === "teardown" && torn?.();
    }
    if (["string", "number", "undefined"].includes(typeof message.id)) answer(message);
  }

  function receive({ messages = [], ended: reason }) {
    messages.forEach(send);
    if (reason) close(reason);
  }

  const repaint = () => notify("ui/notifications/host-context-changed", { theme: theme() });

  // close takes the app away, after a second at most.
  let closing;
  const close = (reason = "the page has closed it") => (closing ??= (async () => {
    stop();
    if (initialized) {
      const done = new Promise((resolve) => (torn = resolve));
      send({ id: "teardown", method: "ui/resource-teardown", params: { reason } });
      await Promise.race([done, new Promise((resolve) => setTimeout(resolve, 1000))]);
    }
    removeEventListener("message", hear);
    dark.removeEventListener("change", repaint);
    waiting.forEach((abort) => abort.abort());
    bar.remove();
    frame.remove();
    post(new URL("end", at), {}).catch(() => {}); // it may have ended
    ended.resolve(reason);
  })());

  addEventListener("message", hear);
  dark.addEventListener("change", repaint);
  frame.src = opened.sandbox;
  element.append(frame);
  const update = (more) => notify("ui/notifications/host-context-changed", Object.assign(context, more) && more);
  return { close, update, ended: ended.promise, frame, declared: opened.csp };
}

const ask = async (url) => confirm("This app wants to open " + url);

async function postTo(url, body, headers, signal) {
  const response = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json", ...headers() }, body: JSON.stringify(body), signal });
  const answer = response.status === 204 ? null : await response.json().catch(() => ({}));
  if (!response.ok) throw Object.assign(new Error(answer?.error ?? answer?.detail ?? "the program does not answer: " + response.status), { status: response.status });
  return answer;
}

// One request waits for the news of all apps of a page, since browsers make few at a time.
const pages = new Map(); // by the URL of a bridge

function listen(base, id, receive, post) {
  const page = pages.get(base.href) ?? { apps: new Map(), abort: null, runs: false, post };
  pages.set(base.href, page);
  page.apps.set(id, { last: 0, receive });
  if (page.runs) page.abort?.abort(); // to ask for this one, too
  else run(base, page);
  return () => page.apps.delete(id);
}

async function run(base, page) {
  let wait = 500;
  page.runs = true;
  while (page.apps.size > 0) {
    page.abort = new AbortController();
    try {
      const seen = Object.fromEntries([...page.apps].map(([id, app]) => [id, app.last]));
      for (const [id, found] of Object.entries(await page.post(new URL("poll", base), seen, page.abort.signal))) {
        const app = page.apps.get(id);
        if (!app) continue;
        app.last = found.last ?? app.last;
        if (found.ended) page.apps.delete(id);
        app.receive(found);
      }
      wait = 500;
    } catch (error) {
      if (error.name === "AbortError") continue;
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, 30_000);
    }
  }
  page.runs = false;
}
