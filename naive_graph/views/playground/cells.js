// The cells of a lesson: each can be changed, and run in the page; what comes of it stands below the cell.
// No text from a program becomes markup here: a page that Python made stands in a frame.
"use strict";
{
  const WORDS = {
    begin: "Each cell runs in this page, and can be changed. Python is fetched at the first run.",
    file: "Cells run where a web server hands this page out: naive-graph site --serve.",
    fetching: "Python is being fetched; then the cells run.", progress: "Python is being fetched: {count} MB.",
    stopped: "Stopped. Python begins anew at the next run.",
    broken: "Python could not be started: {told}", runs: "Cell {place} runs.",
    done: "Cell {place} is done.", failed: "Cell {place} ends with an error.",
    unrun: "Cell {place} did not run: the cells above it come first.", see: "Show cell {place}",
    full: "This browser keeps nothing, or no more: what you type here is lost when you close the page. Copy it before.",
    forget: "Forget what you typed in this lesson, and which of its exercises are right? tiny.py stays.",
    right: "Exercises that are right: {count} of {all}.",
    cell: "Cell {place}", tiny: "tiny.py, your own engine: it is saved as you type.",
    asks: "This needs {name}, which is not in this site's folder. Pyodide's makers have it at {host}, which is another host than this page's.",
    fetch: "Ask that host for {name}, and run the cell again", asking: "{name} is being fetched.",
    refused: "It cannot be had from there ({told}).",
    none: "This needs {name}, which this page cannot have.",
    own: "On your own machine: {install}, then naive-graph lessons. The file stands at the top of this page.",
    run: "Run", change: "Change", was: "As it was", hint: "Hint", solution: "Solution", all: "Run all", stop: "Stop", reset: "Begin anew", hand: "Download with my answers",
    lost: "The notebook could not be fetched: {told}", passed: "✓ right",
  };
  const { make, HOME } = shared, room = document.getElementById("python"), facts = room.dataset;
  const translated = JSON.parse(facts.words || "{}");  // of a page in another language
  const say = (key, put = {}) => (translated[WORDS[key]] ?? WORDS[key]).replace(/\{(\w+)\}/g, (_, name) => put[name]);
  const button = (text, act) => { const made = make("button", { type: "button" }, text); made.addEventListener("click", act); return made; };
  const status = make("p"), right = make("p"), full = make("p", { hidden: true, className: "error" }, say("full"));
  status.setAttribute("role", "status");
  const state = (text) => { status.textContent = text; };

  // --- what the browser keeps: what was typed, and the learner's files ---
  const KEY = `naive_graph ${facts.lesson}`, FILES = "naive_graph files";
  const kept = (key) => { try { return JSON.parse(localStorage.getItem(key)) ?? {}; } catch { return {}; } };
  let typed = kept(KEY), files = kept(FILES);
  function keep() {
    try {
      for (const [key, value] of [[KEY, typed], [FILES, files]]) localStorage.setItem(key, JSON.stringify(value));
      full.hidden = true;
    } catch { full.hidden = false; }
  }
  addEventListener("storage", ({ key }) => { if (key === FILES) { files = kept(FILES); tell(); } });  // by another page
  function forget() {
    if (!confirm(say("forget"))) return;
    const known = progress();
    for (const { exercise } of cells) delete known[exercise];
    [typed, files] = [{}, { ...files, "progress.json": JSON.stringify(known) }];
    keep();
    location.reload();
  }
  function progress() { try { return JSON.parse(files["progress.json"]); } catch { return {}; } }
  function tell() {
    const known = progress(), asked = cells.filter((each) => each.exercise);
    for (const each of asked) each.mark.textContent = known[each.exercise]?.passed ? say("passed") : "";
    right.textContent = asked.length ? say("right", { count: asked.filter((each) => each.mark.textContent).length, all: asked.length }) : "";
    for (const each of cells) if (each.file && files["tiny.py"] !== undefined) open(each, each.file);
  }

  // --- the cells ---
  const seen = {};
  const cells = [...document.querySelectorAll(".code-cell")].map((box, index) => {
    const pre = box.querySelector("pre"), original = pre.textContent.trimEnd();
    seen[original] = (seen[original] ?? 0) + 1;
    const cell = {
      box, pre, original, place: index + 1, key: `${seen[original]} ${original}`, exercise: box.dataset.exercise, hasRun: false,
      result: box.querySelector(".result"), told: make("div"), mark: make("span", { className: "mark" }),
    };
    cell.was = button(say("was"), () => restore(cell));
    const tools = make("div", { className: "tools" }, button(say("run"), () => run(cell)), button(say("change"), () => edit(cell)), cell.was);
    for (const act of cell.exercise ? ["hint", "solution"] : []) tools.append(button(say(act), () => add([cell, act])));
    tools.append(cell.mark);
    pre.after(tools, cell.told);
    if (/^start_tiny\(/m.test(original)) {
      cell.file = make("div", { hidden: true }, make("p", {}, say("tiny")));
      cell.result.after(cell.file);
    }
    cell.was.hidden = typed[cell.key] === undefined;
    if (!cell.was.hidden) pre.textContent = typed[cell.key];
    return cell;
  });
  const text = (cell) => typed[cell.key] ?? cell.original;
  function changed(cell, now) {
    if (now === cell.original) delete typed[cell.key]; else typed[cell.key] = now;
    [cell.was.hidden, cell.hasRun] = [now === cell.original, false];
    keep();
  }
  function restore(cell) {
    changed(cell, cell.original);
    if (cell.editor) cell.editor.setValue(cell.original); else cell.pre.textContent = cell.original;
  }

  // --- editors, fetched when one is wanted ---
  let editors = null;
  const loaded = (made) => new Promise((done, failed) => { made.onload = done; made.onerror = failed; document.head.append(made); });
  const address = (name) => new URL(name, HOME).href;
  function fetchEditors() {
    editors ??= (async () => {
      for (const name of ["codemirror/codemirror.css", "editor.css"]) await loaded(make("link", { rel: "stylesheet", href: address(name) }));
      for (const name of ["codemirror/codemirror.js", "codemirror/python.js"]) await loaded(make("script", { src: address(name) }));
    })();
    return editors;
  }
  async function edit(cell) {
    await fetchEditors();
    if (!cell.editor) {
      const area = make("textarea", { value: text(cell) });
      cell.pre.replaceWith(area);
      cell.editor = shared.editor(area, say("cell", cell), () => run(cell));
      cell.editor.on("change", (own) => changed(cell, own.getValue()));
    }
    cell.editor.focus();
  }
  async function open(cell, room) {
    await fetchEditors();
    if (room.hidden) {
      const area = make("textarea", { value: files["tiny.py"] });
      room.hidden = false;
      room.append(area);
      cell.tiny = shared.editor(area, "tiny.py", () => {});
      cell.tiny.on("change", (own) => { files["tiny.py"] = own.getValue(); keep(); });
    }
    if (cell.tiny.getValue() !== files["tiny.py"]) cell.tiny.setValue(files["tiny.py"]);
  }

  // --- Python: one cell at a time, after those above it that have not run ---
  let python = null, isReady = false, waiting = [], now = null, lacking = null;
  const heard = {
    ready() { isReady = true; next(); },
    progress(count) { if (!isReady) state(say("progress", { count })); },
    broken(told) { python = null; halt(say("broken", { told })); },
    printed(line) {
      const last = now.out.lastElementChild;
      (last?.className === "printed" ? last : now.out.appendChild(make("pre", { className: "printed" }))).append(`${line}\n`);
    },
    shown(title, kind, body) { if (kind === "missing") lacking = [now.cell, title]; else now.out.append(made[kind](body, title)); },
    done(ended, got) {
      const { cell, sent, act } = now;
      for (const [name, body] of Object.entries(got)) if (files[name] === sent[name]) files[name] = body;  // else it was typed meanwhile
      if (!act) [cell.hasRun, cell.box.dataset.state] = [ended, ended ? "done" : "error"];
      const wished = ended ? null : waiting.findLast(([, act]) => !act)?.[0];
      if (!ended) { for (const [each] of waiting) delete each.box.dataset.state; waiting = []; }
      now = null;
      keep();
      tell();
      state(say(ended ? "done" : "failed", cell));
      if (wished) status.append(` ${say("unrun", wished)} `, button(say("see", cell), () => cell.box.scrollIntoView({ block: "center" })));
      if (lacking) python.postMessage({ module: lacking[1] });
      next();
    },
    found(module, name) {
      const [cell] = lacking;
      lacking = null;
      if (name && facts.host) cell.result.append(offer(cell, name));
      else cell.result.append(make("p", {}, `${say("none", { name: module || "a tool" })} ${say("own", facts)}`));
    },
    fetched(isThere, told) {
      const [cell] = lacking;
      lacking = null;
      if (isThere) run(cell); else cell.result.append(make("p", {}, `${say("refused", { told })} ${say("own", facts)}`));
    },
  };
  const made = {
    text: (body) => make("pre", {}, body),
    error: (body) => make("pre", { className: "error" }, body),
    html: (body, title) => shared.framed(title, body, true),
    page: (body, title) => Object.assign(shared.framed(title, body), { className: "tall" }),
    image: (body, title) => make("img", { src: `data:image/png;base64,${body}`, alt: title }),
  };
  function offer(cell, name) {
    const ask = button(say("fetch", { name }), () => {
      ask.disabled = true;
      state(say("asking", { name }));
      lacking = [cell, name];
      python.postMessage({ names: [name], host: facts.host });
    });
    return make("p", {}, say("asks", { name, host: new URL(facts.host).host }), " ", ask);
  }
  function run(cell) {
    const before = cells.slice(0, cell.place - 1).filter((each) => !each.hasRun);
    add(...[...before, cell].map((each) => [each]));
  }
  function add(...more) {
    const fresh = more.filter(([cell, act]) => !waiting.some((each) => each[0] === cell && each[1] === act));
    for (const [cell, act] of fresh) if (!act) cell.box.dataset.state = "waits";
    waiting.push(...fresh);
    stopper.disabled = false;
    if (location.protocol === "file:") { waiting = []; return halt(say("file")); }
    if (!python) {
      [python, isReady] = [shared.thread(facts.package, heard), false];
      state(say("fetching"));
    }
    next();
  }
  function next() {
    if (!isReady || now) return;
    const [cell, act] = waiting.shift() ?? [];
    stopper.disabled = !cell;
    if (!cell) return;
    now = { cell, act, out: act ? cell.told : cell.result, sent: { ...files } };
    now.out.replaceChildren();
    delete now.out.dataset.expected;  // what comes now is the cell's own
    if (!act) cell.box.dataset.state = "runs";
    state(say("runs", cell));
    const source = act ? `__import__("naive_graph").${act}("${cell.exercise}")` : text(cell);
    python.postMessage({ source, cell: `cell ${cell.place}`, files });
  }
  function halt(told) {
    python?.terminate();
    [python, isReady, waiting, now, lacking, stopper.disabled] = [null, false, [], null, null, true];
    for (const each of cells) { each.hasRun = false; delete each.box.dataset.state; }
    state(told);
  }

  // --- the notebook with what was typed, to be handed in ---
  const NOTEBOOK = location.pathname.split("/").at(-1).replace(/\.html$/, ".ipynb");
  async function handIn() {
    try {
      const answer = await fetch(NOTEBOOK);
      if (!answer.ok) throw new Error(answer.statusText);
      const notebook = await answer.json(), programs = notebook.cells.filter((each) => each.cell_type === "code");
      if (programs.length !== cells.length) throw new Error("it is of another version than this page");
      programs.forEach((each, index) => { each.source = typed[cells[index].key] ?? each.source; });
      const link = make("a", { download: NOTEBOOK, href: URL.createObjectURL(new Blob([`${JSON.stringify(notebook, null, 1)}\n`])) });
      link.click();
      URL.revokeObjectURL(link.href);
    } catch (error) { state(say("lost", { told: error.message })); }
  }

  const stopper = button(say("stop"), () => halt(say("stopped")));
  stopper.disabled = true;
  const tools = make("div", { className: "tools" }, button(say("all"), () => run(cells.at(-1))), stopper, button(say("reset"), forget), button(say("hand"), handIn));
  room.replaceChildren(tools, status, right, full);
  state(say(location.protocol === "file:" ? "file" : "begin"));
  keep();
  tell();
}
