// The prelude makes what a script sees beside the language. It returns the function by
// which the script, and answers by the numbers of their requests, come in. Send takes a method and JSON, and returns the number of the request.
(function (send, parallel) {
	'use strict';
	const {parse} = JSON;
	// Half a surrogate pair, which is written by its number, is no character.
	const stringify = (value) => {
		const text = JSON.stringify(value);
		return text?.includes('\\ud') ? text.replace(/\\(?:\\|u(d[89a-f]..))/g, (all, half) => half ? '\ufffd' : all) : text;
	};
	const open = new Map();
	const queue = [];

	const pump = () => {
		while (open.size < parallel && queue.length > 0) {
			const {method, params, resolve, reject} = queue.shift();
			try {
				open.set(send(method, params), {resolve, reject});
			} catch (error) {
				reject(failure({message: String(error.message), code: 'too_large', outcome: 'not sent'}));
			}
		}
	};
	const failure = ({message, code, outcome}) => {
		const error = new Error(message);
		error.name = 'ToolError';
		error.code = code;
		error.outcome = outcome;
		return error;
	};
	const request = (method, params) => new Promise((resolve, reject) => {
		queue.push({method, params: stringify(params), resolve, reject});
		pump();
	});
	const define = (name, value) => Object.defineProperty(globalThis, name, {value, configurable: true, writable: true});

	define('call', (name, args) => request('call', {name, arguments: args ?? {}}));
	define('search', (query, limit) => request('search', {query, limit}));
	define('describe', (name) => request('describe', {name}));
	const node = (path) => new Proxy(function () {}, {
		get: (_, key) => typeof key === 'string' && key !== 'then' && path.length < 2 ? node([...path, key]) : undefined,
		apply: (_, self, [args]) => request('call', {path, arguments: args ?? {}}),
	});
	define('tools', node([]));
	const show = (value) => {
		if (typeof value === 'string') return value;
		if (value instanceof Error) return `${value.name}: ${value.message}`;
		try {
			return stringify(value) ?? String(value);
		} catch {
			return String(value);
		}
	};
	const log = (...values) => { send('log', values.map(show).join(' ')); };
	define('console', {log, info: log, warn: log, error: log, debug: log});

	const text = (value) => {
		try {
			return String(value);
		} catch {
			return 'a value that cannot be shown';
		}
	};
	const done = (value) => { send('done', stringify(value)); };
	const fail = (error) => {
		let name = '', message = '', stack = '';
		try {
			if (error instanceof Error) ({name, message, stack} = error);
		} catch {}
		if (!name) [name, message] = ['Error', text(error)];
		send('fail', stringify({name: text(name), message: text(message), stack: text(stack ?? '')}));
	};
	return (id, ok, value) => {
		if (typeof id === 'function') {
			id(value === undefined ? undefined : parse(value)).then(done).catch(fail);
			return;
		}
		const asked = open.get(id);
		open.delete(id);
		if (ok) asked.resolve(value === undefined ? undefined : parse(value));
		else asked.reject(failure(parse(value)));
		pump();
	};
})
