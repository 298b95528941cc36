// The page: an editor, a thread with Python, and what came of the program. No text from a program becomes markup here.
"use strict";
{
  const find = (id) => document.getElementById(id), state = (text) => { find("state").textContent = text; };
  const { make } = shared;
  const HASH = "#program=";

  // --- the editor ---
  const editor = shared.editor(find("program"), "Program in Python", () => run(), { lineNumbers: true });

  // --- Python ---
  let python = null, isReady = false, waiting = null, began = 0;
  function start() {
    python?.terminate();
    isReady = false;
    python = shared.thread(document.body.dataset.package, heard);
  }
  const heard = {
    ready() {
      isReady = true;
      if (waiting !== null) return begin(waiting);
      state("Python is ready.");
    },
    progress(megabytes) { if (!isReady) state(`Python is being fetched: ${megabytes} MB.`); },
    broken(told) { state(`Python could not be started: ${told}`); },
    printed(line) { find("printed").hidden = false; find("printed").append(`${line}\n`); },
    shown(title, kind, body) { add(title, kind, body); },
    done() {
      find("stop").disabled = true;
      state(`Done in ${((performance.now() - began) / 1000).toFixed(2)} s.`);
    },
  };
  function run() {
    if (!python) return;
    waiting = editor.getValue();
    if (isReady) begin(waiting); else state("Python is being fetched; the program runs as soon as it is there.");
  }
  function begin(source) {
    [waiting, began] = [null, performance.now()];
    find("printed").replaceChildren();
    find("printed").hidden = true;
    find("tabs").replaceChildren();
    find("shown").replaceChildren();
    find("stop").disabled = false;
    state("It runs.");
    python.postMessage({ source });
  }
  function stop() {
    find("stop").disabled = true;
    start();
    state("Stopped. Python begins anew.");
  }

  // --- what came of it ---
  function add(title, kind, body) {
    const tab = make("button", { type: "button" }, title);
    tab.setAttribute("role", "tab");
    tab.setAttribute("aria-controls", "shown");
    tab.addEventListener("click", () => open(tab, kind, body));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key], all = [...find("tabs").children];
      if (step) { const next = all[(all.indexOf(tab) + step + all.length) % all.length]; next.click(); next.focus(); }
    });
    find("tabs").append(tab);
    if (kind === "error" || find("tabs").children.length === 1) open(tab, kind, body); else tab.tabIndex = -1;
    tab.setAttribute("aria-selected", String(tab.tabIndex === 0));
  }
  function open(tab, kind, body) {
    for (const each of find("tabs").children) { each.setAttribute("aria-selected", String(each === tab)); each.tabIndex = each === tab ? 0 : -1; }
    find("shown").replaceChildren(kind === "page" ? shared.framed(tab.textContent, body) : make("pre", { className: kind }, body));
  }

  // --- programs: examples, and those that a link brings, which never run by themselves ---
  function link() {
    const address = new URL(location.href);
    address.hash = HASH.slice(1) + encodeURIComponent(editor.getValue());
    history.replaceState(null, "", address);
    const told = () => state("The address of this page holds the program now: copy it from there.");
    navigator.clipboard?.writeText(String(address)).then(() => state("The link is copied."), told) ?? told();
  }
  function brought() {
    if (!location.hash.startsWith(HASH)) return false;
    try { editor.setValue(decodeURIComponent(location.hash.slice(HASH.length))); } catch { return false; }
    state("This program came with the link. Read it, then press Run.");
    waiting = null;
    return true;
  }
  async function begun() {
    const known = await (await fetch("examples.json")).json(), choice = find("examples");
    choice.append(...Object.keys(known).map((title) => make("option", {}, title)));
    choice.addEventListener("change", () => { editor.setValue(known[choice.value]); history.replaceState(null, "", location.pathname); run(); });
    if (brought()) { choice.prepend(make("option", { selected: true, disabled: true }, "from a link")); return; }
    editor.setValue(known[choice.value]);
    run();
  }
  find("run").addEventListener("click", run);
  find("stop").addEventListener("click", stop);
  find("link").addEventListener("click", link);
  addEventListener("hashchange", brought);
  if (location.protocol === "file:") state("Python runs where a web server hands this page out: naive-graph playground.");
  else { start(); begun(); }
}
