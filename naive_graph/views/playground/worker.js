// Python in a thread of its own: it can be stopped, and the page answers meanwhile. Nothing is asked of anybody else.
import { loadPyodide } from "./pyodide/pyodide.mjs";

const ROOM = "/home/pyodide", KEPT = "naive-graph";
const FILES = ["tiny.py", "progress.json"];  // of a learner, which the page keeps
const version = new URL(import.meta.url).searchParams.get("package");
const say = (what, ...rest) => postMessage([what, ...rest]);
const there = (name) => new URL(name, import.meta.url);  // this thread was begun from a blob, which has no place
const bytes = async (name) => (await fetch(there(name))).arrayBuffer();

/** Tell how much has come, of all that this thread fetches. */
const asks = self.fetch;
let come = 0, said = 0;
self.fetch = async (...given) => {
  const answer = await asks(...given);
  if (!answer.body) return answer;
  const counted = answer.body.pipeThrough(new TransformStream({
    transform(piece, out) {
      come += piece.byteLength;
      if (come - said > 250_000) { said = come; say("progress", (come / 1e6).toFixed(1)); }
      out.enqueue(piece);
    },
  }));
  return new Response(counted, { status: answer.status, statusText: answer.statusText, headers: answer.headers });
};

/** What was compiled when the page was open before; nothing where the browser keeps none. */
async function kept() {
  if (!self.caches) return null;
  for (const name of await caches.keys()) if (name.startsWith(KEPT) && name !== `${KEPT}-${version}`) await caches.delete(name);
  return (await (await caches.open(`${KEPT}-${version}`)).match(there("compiled")))?.arrayBuffer();
}

async function begin() {
  const ready = loadPyodide({ env: { HOME: ROOM, NAIVE_GRAPH_DATA: ROOM, MPLBACKEND: "agg" }, stdin: () => null, stdout: (line) => say("printed", line), stderr: (line) => say("printed", line) });
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

const quiet = { messageCallback: () => {}, errorCallback: () => {} };

async function fetched(python, source) {  // NumPy and its like, if whoever set up this folder put them there
  try { await python.loadPackagesFromImports(source, quiet); } catch { /* Python says what is missing */ }
}

/** Packages from where Pyodide's makers keep them. The page has asked before, and asks again for others. */
async function fetchedFrom(python, names, host) {
  const all = Object.values(python.lockfile.packages), here = all.map((each) => each.file_name);
  for (const each of all) each.file_name = new URL(each.file_name, host).href;
  await python.loadPackage(names, quiet).finally(() => all.forEach((each, place) => { each.file_name = here[place]; }));
  const failed = names.filter((name) => !python.loadedPackages[name]);
  if (failed.length) throw new Error(failed.join(", "));
}

const asked = {
  /** A program: of the playground, or a cell of a lesson with the files that the lesson is about. */
  async source({ source, cell, files = {} }, { python, running }) {
    for (const [name, text] of Object.entries(files)) python.FS.writeFile(`${ROOM}/${name}`, text);
    await fetched(python, source);
    const show = (title, kind, body) => say("shown", title, kind, body);
    const ended = cell ? running.run_cell(source, cell, show) : running.run(source, show);
    const there = FILES.filter((name) => cell && python.FS.analyzePath(`${ROOM}/${name}`).exists);
    say("done", ended, Object.fromEntries(there.map((name) => [name, python.FS.readFile(`${ROOM}/${name}`, { encoding: "utf8" })])));
  },
  /** What holds a module, if Pyodide's makers have it. */
  async module({ module }, { python }) {
    const found = Object.values(python.lockfile.packages).find((each) => each.imports.includes(module));
    say("found", module, found ? found.name : "");
  },
  async host({ names, host }, { python }) {
    try { await fetchedFrom(python, names, host); say("fetched", true); } catch (error) { say("fetched", false, String(error)); }
  },
};

onmessage = async ({ data }) => {
  const state = await begun, { running } = state;
  await asked[Object.keys(asked).find((each) => each in data)](data, state);
  if (!("source" in data) || !state.isNew || !self.caches) return;
  state.isNew = false;
  const all = running.compiled().toJs();
  await (await caches.open(`${KEPT}-${version}`)).put(there("compiled"), new Response(all));
};
