// Lists the tools of the servers in testdata/servers.json and writes what they
// served, and the number of tokens of each definition. See doc.go.
//
//	node record.mjs <folder with node_modules> [server...]
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { pathToFileURL } from 'node:url';

const startLimit = 20_000; // milliseconds for one server
const hide = pathToFileURL(path.join(import.meta.dirname, 'hide.mjs')).href;
const testdata = path.join(import.meta.dirname, '..', 'testdata');
const packages = path.resolve(process.argv[2]);
const only = process.argv.slice(3);
const { encode } = createRequire(path.join(packages, 'package.json'))('gpt-tokenizer/encoding/o200k_base');

// The folder that the servers work in. They get no variable of this process but
// PATH.
const sandbox = '/tmp/toolcorpus';

const readJSON = (file) => JSON.parse(fs.readFileSync(file, 'utf8'));
const writeJSON = (file, value) => fs.writeFileSync(file, JSON.stringify(value, null, 1) + '\n');

// list starts a server and resolves to all pages of its tools.
function list(server, main) {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['--import', hide, main, ...(server.args ?? [])], {
      cwd: sandbox,
      env: { PATH: process.env.PATH, HOME: sandbox, ...server.env },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const tools = [];
    let noise = '', rest = '';
    const timer = setTimeout(() => end(new Error(`no tools within ${startLimit} ms`)), startLimit);
    const end = (err) => {
      clearTimeout(timer);
      child.kill('SIGKILL');
      err ? reject(new Error(`${server.name}: ${err.message}\n${noise.slice(-2000)}`)) : resolve(tools);
    };
    const send = (message) => child.stdin.write(JSON.stringify({ jsonrpc: '2.0', ...message }) + '\n');
    let id = 1;
    child.on('error', end);
    child.on('exit', (code) => end(new Error(`exit ${code}`)));
    child.stdin.on('error', () => {});
    child.stderr.on('data', (data) => (noise += data));
    child.stdout.setEncoding('utf8').on('data', (data) => {
      const lines = (rest + data).split('\n');
      rest = lines.pop();
      for (const line of lines) {
        let answer;
        try { answer = JSON.parse(line); } catch { continue; }
        if (answer.id !== id || answer.method) continue;
        if (answer.error) return end(new Error(JSON.stringify(answer.error)));
        if (id === 1) send({ method: 'notifications/initialized' });
        tools.push(...(answer.result.tools ?? []));
        const cursor = answer.result.nextCursor;
        if (id > 1 && !cursor) return end();
        send({ id: ++id, method: 'tools/list', params: cursor ? { cursor } : {} });
      }
    });
    send({ id, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'toolcorpus', version: '1' } } });
  });
}

// tokens counts what a model reads of a definition.
const tokens = ({ name, description, inputSchema }) => encode(JSON.stringify({ name, description, inputSchema })).length;

const serversFile = path.join(testdata, 'servers.json');
const tokensFile = path.join(testdata, 'tokens.json');
const servers = readJSON(serversFile);
const counts = fs.existsSync(tokensFile) ? readJSON(tokensFile) : {};
for (const server of servers) {
  if (only.length && !only.includes(server.name)) continue;
  fs.rmSync(sandbox, { recursive: true, force: true });
  fs.mkdirSync(sandbox);
  const folder = path.join(packages, 'node_modules', server.package);
  server.version = readJSON(path.join(folder, 'package.json')).version;
  try {
    const tools = await list(server, path.join(folder, server.main));
    writeJSON(path.join(testdata, 'servers', server.name + '.json'), tools);
    const licence = fs.readdirSync(folder).find((file) => /^licen[cs]e/i.test(file));
    if (licence) fs.copyFileSync(path.join(folder, licence), path.join(testdata, 'licences', server.name + '.txt'));
    counts[server.name] = Object.fromEntries(tools.map((tool) => [tool.name, tokens(tool)]));
    console.log(server.name, tools.length);
  } catch (err) {
    console.error(String(err));
    process.exitCode = 1;
  }
}
fs.rmSync(sandbox, { recursive: true, force: true });
writeJSON(serversFile, servers);
writeJSON(tokensFile, Object.fromEntries(servers.map(({ name }) => [name, counts[name]])));
