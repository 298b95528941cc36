// A function that somebody types on the front page: Python draws it, and its program stands in the address.
"use strict";
{
  const find = (id) => document.getElementById(id), hero = find("hero"), wish = find("wish"), state = (text) => { find("numbers").textContent = text; };
  const BEGIN = "#f=", FILE = "Python runs where a web server hands this page out: naive-graph site --serve.";
  const program = (formula) => `from naive_graph import *\n\nx, y = Variable(6.0, name="x"), Variable(2.0, name="y")\nf = ${formula}\nf.name = "f"\nGraph.forward(f)\nGraph.backward(f)\nprint(f"f = {f.formula()} = {f.value:.6g}")\nprint(f"df/dx = {x.grad:.6g}, df/dy = {y.grad:.6g}")\ndraw(f)\n`;
  let python = null, isReady = false, waiting = null, told = [];
  const heard = {
    ready() { isReady = true; if (waiting !== null) ask(); },
    progress(megabytes) { if (!isReady) state(`Python is being fetched: ${megabytes} MB.`); },
    broken(why) { state(`Python could not be started: ${why}`); },
    printed(line) { told.push(line); },
    shown(title, kind, body) {
      if (kind === "page") find("drawn").replaceChildren(shared.framed(title, body));
      else told.push(body.trim().split("\n").at(-1));
    },
    done() { state(told.join("\n")); },
  };
  function ask() {
    const source = program(waiting);
    [waiting, told] = [null, []];
    find("formula").textContent = "";
    find("program").href = `playground/index.html#program=${encodeURIComponent(source)}`;
    state("It runs.");
    python.postMessage({ source });
  }
  find("ask").addEventListener("submit", (event) => {
    event.preventDefault();
    if (location.protocol === "file:") return state(FILE);
    history.replaceState(null, "", BEGIN + encodeURIComponent(wish.value));
    waiting = wish.value;
    if (isReady) return ask();
    python ??= shared.thread(hero.dataset.package, heard);
    state("Python is being fetched.");
  });
  // A function that came with a link waits for its reader.
  if (location.hash.startsWith(BEGIN)) {
    try { wish.value = decodeURIComponent(location.hash.slice(BEGIN.length)); state("This function came with the link. Read it, then press Draw it."); } catch { /* no function */ }
  }
}
