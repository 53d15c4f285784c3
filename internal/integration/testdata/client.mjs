// The official TypeScript client, connected to a gateway. It tries what the servers behind it offer, and
// writes what came of it to standard output as JSON.
//
//   node client.mjs NODE_MODULES legacy|auto URL
//   node client.mjs NODE_MODULES legacy|auto COMMAND ARGUMENT...
import { pathToFileURL } from "node:url";

const [modules, mode, target, ...args] = process.argv.slice(2);
const load = (file) => import(pathToFileURL(`${modules}/@modelcontextprotocol/client/dist/${file}`).href);
const { Client, StreamableHTTPClientTransport } = await load("index.mjs");
const { StdioClientTransport } = await load("stdio.mjs");

const transport = target.startsWith("http://")
  ? new StreamableHTTPClientTransport(new URL(target))
  : new StdioClientTransport({ command: target, args, env: process.env });
const client = new Client(
  { name: "integration", version: "1" },
  { versionNegotiation: { mode }, capabilities: { elicitation: { form: {} } } },
);
let asked = [];
client.setRequestHandler("elicitation/create", async (request) => {
  asked.push(request.params.message);
  return { action: "accept", content: { name: "Ada", username: "ada" } };
});
await client.connect(transport);

const text = (result) => result.content.map((block) => block.text).join("");
const said = async (promise) => {
  try {
    return text(await promise);
  } catch (e) {
    return `${e.name}: ${e.message}`;
  }
};

const { tools } = await client.listTools();
const { resources } = await client.listResources();
const { prompts } = await client.listPrompts();
const report = { revision: client.getNegotiatedProtocolVersion(), servers: {} };
for (const server of ["older", "newer"]) {
  const own = (all) => all.map((one) => one.name).filter((name) => name.startsWith(`${server}__`));
  const named = (all, name) => {
    const found = own(all).find((one) => one === `${server}__${name}`);
    return found ?? `no ${name} of ${server}`;
  };
  const call = (name, args, options) => client.callTool({ name: named(tools, name), arguments: args }, options);
  const r = (report.servers[server] = { tools: own(tools).length });

  r.call = await said(call("test_simple_text", {}));

  const progress = [];
  await call("test_tool_with_progress", {}, { onprogress: (p) => progress.push(p.progress) });
  r.progress = progress;

  const address = resources.find((one) => one.name === named(resources, "static-text"))?.uri;
  r.read = (await client.readResource({ uri: address })).contents[0].text;
  r.address = (await client.readResource({ uri: address })).contents[0].uri === address;

  const prompt = await client.getPrompt({ name: named(prompts, "test_prompt_with_arguments"), arguments: { arg1: "one", arg2: "two" } });
  r.prompt = prompt.messages[0].content.text;

  asked = [];
  r.elicit = await said(call("test_input_required_result_elicitation", {}));
  r.asked = asked;
  asked = [];
  r.midCall = await said(call("test_elicitation", { message: "Who is there?" }));
  r.askedMidCall = asked;
}
for (const server of ["slowolder", "slownewer"]) {
  const r = (report.servers[server] = {});
  const completed = await client.complete({ ref: { type: "ref/prompt", name: `${server}__greet` }, argument: { name: "language", value: "e" } });
  r.complete = completed.completion.values;

  const id = `${process.pid}`;
  const cancel = new AbortController();
  const waits = client.callTool({ name: `${server}__wait`, arguments: { id } }, { signal: cancel.signal, onprogress: () => cancel.abort("enough") });
  r.aborted = await waits.then(() => false, () => cancel.signal.aborted);
  r.cancelled = await said(client.callTool({ name: `${server}__cancelled`, arguments: { id } }));
}
await client.close();
console.log(JSON.stringify(report));
