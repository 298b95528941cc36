// A drawn graph that can be followed: fitted, moved, searched, its scopes opened and closed, its paths and cells lit.
// The picture stands there as an image already; this puts the drawing itself in its place.
// Every text is put in as text, never as markup.
(() => {
  const HIGH = 640, PAD = 12;  // pixels: of a screen; around what is gone to
  const FEW = 100;  // nodes, beyond which scopes begin closed
  const number = (value) => {
    if (Number.isNaN(value)) return "not a number";
    if (!Number.isFinite(value)) return value > 0 ? "infinite" : "−infinite";
    return String(Number(value.toPrecision(5))).replace("e+", "e").replaceAll("-", "−");
  };
  const factor = (value) => (value < 0 ? `(${number(value)})` : number(value));
  const parse = (text) => JSON.parse(text ?? "{}");

  const make = (tag, facts = {}, text = "") => {
    const made = document.createElement(tag);
    for (const [name, fact] of Object.entries(facts)) name.startsWith("on") ? (made[name] = fact) : made.setAttribute(name, fact);
    made.textContent = text;
    return made;
  };
  const extent = (svg) => svg.getAttribute("viewBox").split(/[ ,]+/).map(Number);

  /** The drawing in place of its image; of a graph that the image shows in part, that part first. */
  function liven(root) {
    const image = root.querySelector("img");
    const bytes = Uint8Array.from(atob(image.src.split(",")[1]), (letter) => letter.charCodeAt(0));
    const drawings = {
      parts: new DOMParser().parseFromString(new TextDecoder().decode(bytes), "image/svg+xml").documentElement,
      whole: root.querySelector("template")?.content.querySelector("svg"),
    };
    root.append(make("p", { class: "ng-said", role: "status" }));
    const open = (name, then) => {
      root.querySelector(":scope > .ng-tools")?.remove();
      const view = root.querySelector(".ng-view"), fresh = view.cloneNode(false);
      view.replaceWith(fresh);
      show(root, fresh, drawings[name].cloneNode(true), drawings.whole && name, open, drawings.parts, then);
    };
    open("parts");
  }

  /** One drawing, alive. name: "parts" or "whole", where there are both; open: shows the other; parts: what the image
      shows; then: what is to be seen first. */
  function show(root, view, svg, name, open, parts, then) {
    view.replaceChildren(svg);
    const said = root.querySelector(":scope > .ng-said");
    const all = (selector) => [...svg.querySelectorAll(selector)];
    const nodes = new Map(all("g.node").map((node) => [node.id, node]));
    const frames = new Map(all("g.cluster").map((frame) => [frame.id, frame]));
    const edges = all("g.edge[data-from]").filter((edge) => nodes.has(edge.dataset.from) && nodes.has(edge.dataset.to));
    const called = (id) => (nodes.get(id)?.getAttribute("aria-label") ?? id).split(", ")[0].replace(/^(variable|placeholder|constant) /, "");
    const path = (element) => (element?.dataset.scope ?? "").split(" ").filter(Boolean);
    const { spots, isShut, shown, holder, canvas, measure, lay, label } = foldable(svg, nodes, frames, edges, path);
    Object.assign(svg.style, { maxWidth: "none" });
    Object.assign(view.style, { maxHeight: `${HIGH}px`, overflow: "auto" });

    // --- fit, move, zoom: the view scrolls over the drawing ---
    let [left, top, wide, high] = extent(svg), scale = 1, settled = false;
    const large = () => wide > view.clientWidth || high > HIGH;
    const readable = () => SMALL * scale > LEAST - 0.1;
    function size(next) {
      scale = Math.min(4, Math.max(0.02, next));
      for (const [side, length] of [["width", wide], ["height", high]]) svg.setAttribute(side, Math.floor(length * scale));
      svg.setAttribute("viewBox", [left, top, wide, high].join(" "));
      far(!readable());
      label(scale);
    }
    const firsts = [];  // lines of boxes
    function far(is) {  // then a box shows its first line alone, large enough to be read, if there is room in it and around
      svg.classList.toggle("ng-far", is);
      for (const { text, box, y, font, long } of firsts) {
        const needed = 9.2 / scale, fits = is && long * needed < box.width + 2 * PAD && needed < box.height + PAD;
        text.classList.toggle("ng-short", fits);
        text.setAttribute("font-size", fits ? needed : font);
        text.setAttribute("y", fits && !text.parentNode.dataset.formula ? box.y + box.height / 2 + needed / 3 : y);
      }
    }
    function zoom(by, atX = view.clientWidth / 2, atY = view.clientHeight / 2) {
      const [x, y] = [(view.scrollLeft + atX) / scale, (view.scrollTop + atY) / scale];
      size(scale * by);
      view.scrollTo(x * scale - atX, y * scale - atY);
    }
    const fitting = (width, height) => Math.min(1, view.clientWidth / width, HIGH / height);
    function fit() {
      size(fitting(wide, high));
      tell(readable() ? "" : "Text that would be too small is left out. + shows more of it.");
    }
    /** All of it if that can be read; else what is at its end, or this node or frame, at a size that can. */
    function begin(id) {
      settle();
      size(fitting(wide, high));
      tell(opening.length ? "A box that holds more opens by a click, or by Enter." : "");
      if (readable() && !id) return;
      const fed = new Set(edges.map((edge) => edge.dataset.from)), last = [...nodes.values()].findLast((node) => !fed.has(node.id));
      const spot = spots.get(id ?? (last && holder(last))) ?? [0, 0, 0, 0], room = [view.clientWidth, HIGH].map((side) => side - 2 * PAD);
      if (!readable()) {
        size(Math.max(LEAST / SMALL, id ? Math.min(1, room[0] / spot[2], room[1] / spot[3]) : 0));
        tell("A part is shown, so that it can be read: scroll or drag to see the rest, or fit all of it.");
      }
      const inner = [...spots].filter(([each]) => path(nodes.get(each) ?? frames.get(each)).includes(id) && shown(each)).map(([, box]) => box);
      const start = [0, 1].map((axis) => {  // in the middle; or where what is in it begins, if there is no room for all of it
        const free = room[axis] - spot[axis + 2] * scale, first = Math.min(...inner.map((box) => box[axis])) - 30;
        return ((free < 0 && inner.length ? first : spot[axis]) - [left, top][axis]) * scale - Math.max(0, free / 2) - PAD;
      });
      view.scrollTo(...start);
    }
    const tell = (words) => (said.textContent = words);
    const steps = { "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: fit, f: fit,
      ArrowLeft: () => move(-0.2, 0), ArrowRight: () => move(0.2, 0), ArrowUp: () => move(0, -0.2), ArrowDown: () => move(0, 0.2),
      ...(name === "whole" && { Escape: () => open("parts") }) };
    const move = (across, down) => view.scrollBy(across * view.clientWidth, down * view.clientHeight);
    view.addEventListener("keydown", (event) => {
      const step = tools && !event.ctrlKey && !event.metaKey && !event.altKey && steps[event.key];
      if (step) { step(); event.preventDefault(); event.stopPropagation(); }
    });
    view.addEventListener("wheel", (event) => {
      if (!tools || !(event.ctrlKey || event.metaKey)) return;  // else it scrolls
      const room = view.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 300), event.clientX - room.left, event.clientY - room.top);
      event.preventDefault();
    }, { passive: false });
    let dragged = false;  // then the click that follows is none
    svg.addEventListener("pointerdown", (event) => {
      dragged = false;
      if (!tools || event.button || event.pointerType === "touch") return;  // a finger scrolls
      const [fromX, fromY, startX, startY] = [event.clientX, event.clientY, view.scrollLeft, view.scrollTop];
      const drag = (moved) => { dragged ||= Math.hypot(moved.clientX - fromX, moved.clientY - fromY) > 4; view.scrollTo(startX + fromX - moved.clientX, startY + fromY - moved.clientY); };
      const stop = () => { removeEventListener("pointermove", drag); removeEventListener("pointerup", stop); };
      addEventListener("pointermove", drag);
      addEventListener("pointerup", stop);
    });

    // --- scopes ---
    function close(ids, shut) {
      for (const id of ids) frames.get(id).classList.toggle("ng-shut", shut);
      settled = false;
    }
    function settle() {
      if (settled) return;
      far(false);
      lay();
      const { x, y, width, height } = canvas.getBBox();
      [left, top, wide, high, settled] = [x - PAD, y - PAD, width + 2 * PAD, height + 2 * PAD, true];
    }
    function reveal(id) {  // what is in it stays closed: box by box
      for (const [inner, frame] of frames) if (path(frame).includes(id)) frame.classList.add("ng-shut");
      close([...path(frames.get(id)), id], false);
      begin(id);
      frames.get(id).querySelector("text").focus({ preventScroll: true });
    }
    for (const [id, frame] of frames) {
      const text = frame.querySelector("text");
      set(text, { tabindex: 0, role: "button" });
      const flip = () => {
        if (isShut(id)) return reveal(id);
        close([id], true);
        begin(id);
        text.focus({ preventScroll: true });
      };
      frame.addEventListener("click", (event) => !dragged && (isShut(id) || event.target === text) && flip());
      text.addEventListener("keydown", (event) => { if (["Enter", " "].includes(event.key)) { flip(); event.preventDefault(); } });
    }

    // --- search ---
    let found = -1, typed = false;  // by typing the first is found: then Enter stays there
    function search(text) {
      const words = text.trim().toLowerCase().replace(/\.(grad|value)$/, "").replaceAll(" ", "");
      if (name === "parts" && words) return open("whole", (whole) => whole.type(text));
      const named = (each) => (nodes.has(each.id) ? called(each.id) : each.querySelector("title").textContent.split(" = ")[0]).toLowerCase().replaceAll(" ", "");
      const hits = words ? [...nodes.values(), ...all("g.cell")].filter((each) => named(each).includes(words)) : [];
      hits.sort((a, b) => (named(a) !== words) - (named(b) !== words));  // the name itself before those that hold it
      for (const each of all(".ng-found")) each.classList.remove("ng-found");
      const more = !name && svg.querySelector("[data-first]") ? " What is folded is not searched." : "";
      if (!hits.length) return void tell(words ? `Nothing here is called ${text.trim()}.${more}` : "");
      found = (found + 1) % hits.length;
      const hit = hits[found], node = nodes.get(hit.id) ?? nodes.get(hit.dataset.box);
      hit.classList.add("ng-found");
      close(path(node), false);
      begin(node.id);
      tell(`${found + 1} of ${hits.length}: ${hit.getAttribute("aria-label") ?? hit.querySelector("title").textContent}`);
    }

    const begun = (text) => { [found, typed] = [-1, true]; search(text); };

    // --- paths to the result, and the chain rule along them ---
    const out = new Map();
    for (const edge of edges) out.set(edge.dataset.from, [...(out.get(edge.dataset.from) ?? []), edge]);
    function follow(id) {
      const reached = new Set([id]), lit = [];
      for (const each of reached) for (const edge of out.get(each) ?? []) { lit.push(edge); reached.add(edge.dataset.to); }
      svg.classList.add("ng-following");
      for (const each of reached) nodes.get(each)?.classList.add("ng-lit");
      for (const edge of lit) edge.classList.add("ng-lit");
      said.textContent = chain(id, reached, lit);
    }
    function chain(id, reached, lit) {
      const ends = [...reached].filter((each) => each !== id && !(out.get(each) ?? []).length);
      const words = nodes.get(id)?.getAttribute("aria-label") ?? "";
      if (ends.length !== 1) return ends.length ? `${words}. It reaches ${ends.length} results.` : words;
      const slope = (edge) => (edge.dataset.partial === undefined ? undefined : Number(edge.dataset.partial.replace("inf", "Infinity")));
      const back = new Map(), reaches = new Set(ends);  // no derivative goes by an arrow without a partial
      for (const edge of lit) if (slope(edge) !== undefined) back.set(edge.dataset.to, [...(back.get(edge.dataset.to) ?? []), edge.dataset.from]);
      for (const each of reaches) for (const before of back.get(each) ?? []) reaches.add(before);
      const ways = (at) => (out.get(at) ?? []).filter((edge) => slope(edge) !== undefined && reaches.has(edge.dataset.to));
      const paths = [];
      const walk = (at, product) => {  // few of them are written out, and no more are walked than that
        if (paths.length > 6) return;
        if (at === ends[0]) return void paths.push(product);
        for (const edge of ways(at)) walk(edge.dataset.to, [...product, slope(edge)]);
      };
      walk(id, []);
      if (!paths.length || lit.some((edge) => !edge.id.startsWith("edge-"))) return words;
      const sums = new Map([[ends[0], 1]]);  // of the products along all paths from there
      const order = [], seen = new Set(), open = [[id, 0]];
      while (open.length) {
        const [at, place] = open.at(-1), next = ways(at)[place];
        seen.add(at);
        if (!next) { order.push(at); open.pop(); continue; }
        open.at(-1)[1] += 1;
        if (!seen.has(next.dataset.to)) open.push([next.dataset.to, 0]);
      }
      const times = (a, b) => (a === 0 || b === 0 ? 0 : a * b);  // a branch that was not taken gives nothing
      for (const at of order) if (at !== ends[0]) sums.set(at, ways(at).reduce((sum, edge) => sum + times(slope(edge), sums.get(edge.dataset.to) ?? 0), 0));
      const written = paths.slice(0, 6).map((product) => product.map(factor).join("·")).join("  +  ");
      const many = paths.length > 6 ? "  +  …" : "", result = number(sums.get(id));
      const name = (each, other) => nodes.get(each)?.dataset.name ?? other;  // else there may be many like it
      return `d ${name(ends[0], "result")} / d ${name(id, `this ${called(id)}`)}  =  ${written}${many}${written === result ? "" : `  =  ${result}`}`;
    }

    // --- cells, and the cells that feed them ---
    const cell = (box, at) => svg.getElementById(`${box}-cell-${at}`);
    function trace(hovered) {
      const start = hovered.dataset, lit = new Set([`${start.box} ${start.at}`]);
      for (const each of lit) {
        const [box, at] = each.split(" "), node = nodes.get(box);
        cell(box, at)?.classList.add("ng-lit");
        if (box !== start.box && !node?.dataset.through) continue;  // a name of the learner's: enough is said
        for (const [source, places] of Object.entries(parse(node?.dataset.feeds))) for (const place of places[at] ?? []) lit.add(`${source} ${place}`);
      }
      const formula = nodes.get(start.box)?.dataset.formula, words = hovered.querySelector("title")?.textContent ?? "";
      const letters = formula?.match(/\[([^\]]*)\]/)?.[1].split(",") ?? [], places = words.match(/\[([^\]]*)\]/)?.[1].split(",") ?? [];
      const where = letters.length === places.length ? letters.map((letter, at) => `${letter} = ${places[at]}`).join(", ") : "";
      said.textContent = formula ? `${words}:  ${formula}${where && `,  where ${where}`}` : words;
    }
    function clear() {
      svg.classList.remove("ng-following");
      for (const each of all(".ng-lit")) each.classList.remove("ng-lit");
    }
    svg.addEventListener("click", (event) => { root.clicked = event; }, true);
    const still = (event) => Math.hypot(event.clientX - root.clicked?.clientX, event.clientY - root.clicked?.clientY) < 2;
    const point = (event) => {
      clear();
      if (event.type === "pointerover" && still(event)) return;  // it came to lie there
      const over = event.target.closest?.("g.cell, g.node");
      if (over) over.classList.contains("cell") ? trace(over) : follow(over.id);
    };
    svg.addEventListener("pointerover", point);
    view.addEventListener("focusin", point);  // on the drawing itself, it would make that a stop of Tab
    svg.addEventListener("pointerleave", clear);
    view.addEventListener("focusout", clear);

    // --- from a part to the whole ---
    /** The frame of what stands folded in the parts. */
    const frameOf = (part) => frames.get(nodes.has(part.dataset.first) ? path(nodes.get(part.dataset.first))[path(part).length] : `scope-${part.id}`);
    function go(part) {  // to the node of that name, or to the scope that stood folded
      root.dataset.part = part.id;
      const frame = frameOf(part), node = nodes.get(part.id);
      if (frame) return reveal(frame.id);
      begin(node?.id);
      node?.focus({ preventScroll: true });
      const alike = (part.dataset.alike ?? "").split(" ").filter((id) => nodes.has(id));
      if (!alike.length) return;
      clear();  // the paths from the first would dim the others
      for (const id of alike) nodes.get(id).classList.add("ng-found");
      tell(`${called(node.id)}: the first of ${alike.length} that are alike. All of them are marked.`);
    }
    const opening = name === "parts" ? all("g.node:is([id^=scope-], [data-first])") : [];
    for (const part of opening) {
      const go = () => !dragged && open("whole", (whole) => whole.go(part));
      set(part, { role: "button", "aria-expanded": false, style: "cursor: pointer" });
      part.addEventListener("click", go);
      part.addEventListener("keydown", (event) => { if (["Enter", " "].includes(event.key)) { event.preventDefault(); go(); } });
    }

    // --- tools, where they are needed ---
    const tools = (name || large()) && make("div", { class: "ng-tools" });
    if (tools) {
      const button = (text, words, act) => tools.append(make("button", { type: "button", "aria-label": words, title: words, onclick: act }, text));
      if (name === "whole") button("← back", "back to the graph in few boxes", () => open("parts"));
      button("+", "larger", () => zoom(1.3));
      button("−", "smaller", () => zoom(1 / 1.3));
      button("fit", "the whole picture", fit);
      if (name === "parts") button("all nodes", "show every node", () => open("whole", (whole) => whole.everything()));
      if (frames.size) button("open all", "open every scope", everything);
      if (frames.size) button("close all", "close every scope", () => {
        if (name && !parts.querySelector("g.cluster")) return open("parts");
        close(frames.keys(), true);
        begin();
      });
      const box = tools.appendChild(make("input", { type: "search", placeholder: "search", "aria-label": "search for a node" }));
      box.oninput = () => begun(box.value);
      box.onkeydown = (event) => { event.stopPropagation(); if (event.key === "Enter") typed ? (typed = false) : search(box.value); };
      root.prepend(tools);
      view.setAttribute("aria-label", "the picture: + and − zoom, arrows move, f fits");
    }
    const type = (text) => { const box = tools.querySelector("input"); box.value = text; box.focus(); begun(text); };
    function everything() {
      close(frames.keys(), false);
      begin();
      view.focus({ preventScroll: true });
    }
    function start() {
      for (const node of nodes.values()) {
        const text = node.querySelector("text"), shape = node.querySelector("ellipse, polygon, path, rect"), font = Number(text?.getAttribute("font-size"));
        if (shape && text) firsts.push({ text, box: shape.getBBox(), font, y: text.getAttribute("y"), long: text.getComputedTextLength() / font });
      }
      measure();
      if (name === "whole") close([...parts.querySelectorAll("g.node")].map((each) => frameOf(each)?.id).filter(Boolean), true);
      settle();
      size(fitting(wide, high));
      if (nodes.size > FEW && !readable()) close(frames.keys(), true);
      then ? then({ go, type, everything }) : begin();
      if (name === "parts") svg.getElementById(root.dataset.part)?.focus({ preventScroll: true });
    }
    let room = view.clientWidth;
    if (room) start();
    new ResizeObserver(() => {
      if (!view.clientWidth || (room && Math.abs(view.clientWidth - room) < 30)) return;  // 0: it is taken away, or not there yet
      room ? begin() : start();
      room = view.clientWidth;
    }).observe(view);
  }
  for (const root of document.querySelectorAll(".ng-picture:not(.ng-live)")) {
    root.classList.add("ng-live");
    liven(root);
  }
})();
