// What the playground and the cells of a lesson share: an editor, a thread with Python, and a frame for a page that Python made.
"use strict";
const shared = (() => {
  const HOME = new URL(".", document.currentScript.src);
  const make = (tag, facts = {}, ...inside) => { const made = Object.assign(document.createElement(tag), facts); made.append(...inside); return made; };

  /** An editor in the place of a text area. run: what Ctrl+Enter does. Esc, then Tab, leaves it. */
  function editor(area, label, run, more = {}) {
    let isLeaving = false;  // Esc was pressed: the next Tab goes on to what follows
    const made = CodeMirror.fromTextArea(area, {
      mode: "python", lineWrapping: true, indentUnit: 4, viewportMargin: Infinity, screenReaderLabel: label,
      extraKeys: {
        "Ctrl-Enter": run, "Cmd-Enter": run, "Shift-Enter": run, Esc: () => { isLeaving = true; },
        Tab: (own) => (isLeaving ? CodeMirror.Pass : own.somethingSelected() ? own.indentSelection("add") : own.replaceSelection("    ")),
        "Shift-Tab": (own) => (isLeaving ? CodeMirror.Pass : own.indentSelection("subtract")),
      },
      ...more,
    });
    made.on("keydown", (own, event) => { if (isLeaving && event.key === "Tab") event.codemirrorIgnore = true; });
    made.on("blur", () => { isLeaving = false; });
    return made;
  }

  /** Python, in a thread. From a blob, it has this page's policy: what a program asks of anybody is refused. From a file it would have none. */
  function thread(known, heard) {
    const address = new URL(`worker.js?package=${known}`, HOME).href;
    const source = new Blob([`import(${JSON.stringify(address)});`], { type: "text/javascript" });
    const made = new Worker(URL.createObjectURL(source), { type: "module" });
    made.onmessage = ({ data: [what, ...rest] }) => heard[what](...rest);
    return made;
  }

  /** A page that Python made, in a frame. fit: whether the frame becomes as high as its page. */
  function framed(title, body, fit = false) {
    const frame = make("iframe", { title, src: new URL("frame.html", HOME).href });
    frame.setAttribute("sandbox", "allow-scripts allow-downloads");  // an origin of its own: it reads nothing of this page
    const hand = ({ source, data }) => {
      if (!frame.isConnected) return removeEventListener("message", hand);
      if (source !== frame.contentWindow) return;
      if (data === "ready") source.postMessage(body, "*");
      else if (fit && Number.isFinite(data)) frame.style.height = `${Math.min(data, 6000)}px`;
    };
    addEventListener("message", hand);
    return frame;
  }

  // In a site, what a reader has fetched is kept for a visit without a network.
  if (location.protocol.startsWith("http")) navigator.serviceWorker?.register(new URL("../sw.js", HOME)).catch(() => {});

  return { HOME, make, editor, thread, framed };
})();
