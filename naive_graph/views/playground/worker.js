// Python in a thread of its own: it can be stopped, and the page answers meanwhile. Nothing is asked of anybody else.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const ROOM = "/home/pyodide", KEPT = "naive-graph";
const version = new URL(import.meta.url).searchParams.get("package");
const say = (what, ...rest) => postMessage([what, ...rest]);
const there = (name) => new URL(name, import.meta.url);  // this thread was begun from a blob, which has no place
const bytes = async (name) => (await fetch(there(name))).arrayBuffer();

/** What was compiled when the page was open before; nothing where the browser keeps none. */
async function kept() {
  if (!self.caches) return null;
  for (const name of await caches.keys()) if (name.startsWith(KEPT) && name !== `${KEPT}-${version}`) await caches.delete(name);
  return (await (await caches.open(`${KEPT}-${version}`)).match(there("compiled")))?.arrayBuffer();
}

async function begin() {
  const ready = loadPyodide({ stdin: () => null, stdout: (line) => say("printed", line), stderr: (line) => say("printed", line) });
  const [python, archive, compiledBefore, dot] = await Promise.all([ready, bytes("package.zip"), kept(), bytes("dot.txt")]);
  python.unpackArchive(archive, "zip", { extractDir: ROOM });
  if (compiledBefore) python.unpackArchive(compiledBefore, "zip", { extractDir: `${ROOM}/naive_graph` });
  const code = new TextDecoder().decode(dot), lay = code && await compiled(code);
  self.ngDot = lay && ((text) => JSON.stringify(lay(text)));
  self.ngDotCode = code;
  const running = python.pyimport("naive_graph.views.playground.running");
  say("ready");
  return { python, running, isNew: !compiledBefore };
}

const begun = begin().catch((error) => { say("broken", String(error)); throw error; });

async function fetched(python, source) {  // NumPy and its like, if whoever set up this folder put them there
  try { await python.loadPackagesFromImports(source, { messageCallback: () => {}, errorCallback: () => {} }); } catch { /* Python says what is missing */ }
}

onmessage = async ({ data: source }) => {
  const state = await begun, { python, running } = state;
  await fetched(python, source);
  running.run(source, (title, kind, body) => say("shown", title, kind, body));
  say("done");
  if (!state.isNew || !self.caches) return;
  state.isNew = false;
  const made = running.compiled(), data = made.toJs();
  await (await caches.open(`${KEPT}-${version}`)).put(there("compiled"), new Response(data));
};
