// Compares the command with mcporter, each act as a process of its own, in turns:
//
//	node bench/command.mjs [ROUNDS]
//
// It needs go, npm and Node 20, works in a temporary folder, and writes bench/COMMAND.md.
import { spawnSync } from "node:child_process";
import { mkdtempSync, mkdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, platform, arch } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const packages = ["mcporter@0.9.0", "@modelcontextprotocol/server-memory@2026.8.31", "@modelcontextprotocol/server-everything@2026.8.31"];
const rounds = Number(process.argv[2] ?? 15);
const here = fileURLToPath(new URL(".", import.meta.url));
const home = mkdtempSync(join(tmpdir(), "command-"));
const env = { ...process.env, XDG_CONFIG_HOME: "", XDG_STATE_HOME: "" };

function run(program, args, options = {}) {
  const began = process.hrtime.bigint();
  const done = spawnSync(program, args, { cwd: home, env: { ...env, HOME: home }, encoding: "utf8", ...options });
  const ms = Number(process.hrtime.bigint() - began) / 1e6;
  if (done.status !== 0) throw new Error(`${program} ${args.join(" ")}: ${done.error ?? done.stderr + done.stdout}`);
  return ms;
}

try {
  const belt = join(home, "mcpbelt");
  run("go", ["build", "-trimpath", "-ldflags=-s -w", "-o", belt, "."], { cwd: join(here, "../cmd/mcpbelt"), env: { ...env, CGO_ENABLED: "0" } });
  run("npm", ["install", "--no-audit", "--no-fund", "--silent", ...packages], { env });
  const bin = join(home, "node_modules/.bin");
  const servers = (more) => ({
    memory: { command: join(bin, "mcp-server-memory"), env: { MEMORY_FILE_PATH: join(home, "memory.json") }, ...more },
    everything: { command: join(bin, "mcp-server-everything"), args: ["stdio"], ...more },
  });
  const write = (name, value) => writeFileSync(join(home, name), JSON.stringify({ mcpServers: value, imports: [] }));
  mkdirSync(join(home, ".config/mcpbelt"), { recursive: true });
  write(".config/mcpbelt/mcp.json", servers());
  write("cold.json", servers());
  write("warm.json", servers({ lifecycle: "keep-alive" }));
  const porter = (...args) => [join(bin, "mcporter"), ["--config", ...args]];

  const acts = [
    ["list what is configured", [belt, ["list"]], porter("cold.json", "config", "list")],
    ["list both servers, asked now", [belt, ["list", "--live"]], porter("cold.json", "list")],
    ["tools of one server", [belt, ["tools", "memory"]], porter("cold.json", "list", "memory")],
    ["call, the server is started", [belt, ["call", "everything", "echo", "message=hi"]], porter("cold.json", "call", "everything.echo", "message=hi")],
    ["call, the server runs", [belt, ["call", "everything", "echo", "message=hi"]], porter("warm.json", "call", "everything.echo", "message=hi")],
  ];
  const rows = [];
  for (const [name, ...commands] of acts) {
    const warm = name.endsWith("runs");
    if (warm) run(belt, ["daemon", "--background"]), run(...porter("warm.json", "daemon", "start"));
    const times = commands.map(() => []);
    for (let round = -1; round < rounds; round++) commands.forEach((command, i) => { const ms = run(...command); if (round >= 0) times[i].push(ms); });
    if (warm) run(belt, ["daemon", "--stop"]), run(...porter("warm.json", "daemon", "stop"));
    const shown = times.map((list) => { list.sort((a, b) => a - b); return `${Math.round(list[list.length >> 1])} (${Math.round(list[0])})`; });
    rows.push(`| ${name} | ${shown.join(" | ")} |`);
    console.error(rows.at(-1));
  }
  writeFileSync(join(here, "COMMAND.md"), `# What a command costs

Written by \`node bench/command.mjs\`; change nothing by hand.

${new Date().toISOString().slice(0, 10)}, ${platform()}/${arch()}, ${cpus().length} cores, Node ${process.versions.node}. ${rounds} rounds in turns: the median, and the least in brackets, in ms.

| act | mcpbelt | ${packages[0].replace("@", " ")} |
|---|--:|--:|
${rows.join("\n")}

Both have the same two servers from npm, \`server-memory\` and \`server-everything\`. A server that runs is
kept by the daemon of each. The program of mcpbelt has ${(statSync(belt).size / 1e6).toFixed(1)} MB.
`);
} finally {
  rmSync(home, { recursive: true, force: true });
}
