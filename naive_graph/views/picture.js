// A drawn graph that can be followed: fitted, moved, searched, its scopes opened and closed, its paths and cells lit.
// The picture stands there as an image already; this puts the drawing itself in its place.
// Every text is put in as text, never as markup.
(() => {
  const LEAST = 9, SMALL = 11, HIGH = 640;  // pixels: what nobody reads below; the smallest text; a screen
  const FEW = 100;  // nodes that are shown at a size at which they can be read, not all at once
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
    const open = (name) => {
      for (const old of root.querySelectorAll(":scope > .ng-tools, :scope > .ng-said")) old.remove();
      const view = root.querySelector(".ng-view"), fresh = view.cloneNode(false);
      view.replaceWith(fresh);
      return show(root, fresh, drawings[name].cloneNode(true), drawings.whole && name, open);
    };
    open("parts");
  }

  /** One drawing, alive. name: "parts" or "whole", where there are both; open: shows the other. */
  function show(root, view, svg, name, open) {
    view.replaceChildren(svg);
    const said = root.appendChild(make("p", { class: "ng-said", role: "status" }));
    const all = (selector) => [...svg.querySelectorAll(selector)];
    const nodes = new Map(all("g.node").map((node) => [node.id, node]));
    const frames = new Map(all("g.cluster").map((frame) => [frame.id, frame]));
    const edges = all("g.edge[data-from]");
    const called = (id) => (nodes.get(id)?.getAttribute("aria-label") ?? id).split(", ")[0].replace(/^(variable|placeholder|constant) /, "");
    const path = (element) => (element.dataset.scope ?? "").split(" ").filter(Boolean);
    const sizes = new Map();
    svg.style.maxWidth = "none";

    // --- fit, move, zoom ---
    const [left, top, wide, high] = extent(svg);
    let [x, y, span] = [left, top, wide];  // what is seen: from where, and how wide
    const scale = () => svg.getBoundingClientRect().width / span || 1;
    function look() {
      const seen = svg.getBoundingClientRect();
      if (!seen.width) return;  // not on the screen
      svg.setAttribute("viewBox", `${x} ${y} ${span} ${(span * seen.height) / seen.width}`);
      far(SMALL * scale() < LEAST - 0.1);
      for (const frame of frames.values()) label(frame);
    }
    function far(is) {  // then a box shows its first line alone, large enough to be read, if it fits
      svg.classList.toggle("ng-far", is);
      for (const node of nodes.values()) {
        const text = node.querySelector("text"), size = 10 / scale();
        if (!text) continue;
        sizes.has(node) || sizes.set(node, { box: node.querySelector("ellipse, polygon, path, rect")?.getBBox(), y: text.getAttribute("y"), size: text.getAttribute("font-size") });
        const own = sizes.get(node);
        const fits = is && own.box && 0.62 * size * text.textContent.trim().length < own.box.width && size < own.box.height;
        text.classList.toggle("ng-short", fits);
        text.setAttribute("font-size", fits ? size : own.size);
        text.setAttribute("y", fits && !node.dataset.formula ? own.box.y + own.box.height / 2 + size / 3 : own.y);
      }
    }
    function zoom(by, atX = 0.5, atY = 0.5) {
      const seen = svg.getBoundingClientRect(), tall = (span * seen.height) / seen.width;
      const next = Math.min(4 * wide, Math.max(80, span / by));
      x += (span - next) * atX;
      y += (tall - (next * tall) / span) * atY;
      span = next;
      look();
    }
    function fit() {
      const room = view.clientWidth, share = Math.min(1, room / wide, HIGH / high);
      svg.setAttribute("width", room > 0 ? Math.min(room, Math.max(wide * share, large() ? room : 0)) : wide);
      svg.setAttribute("height", Math.ceil(Math.min(high, Math.max(high * share, 160))));
      const seen = svg.getBoundingClientRect();
      span = Math.max(wide, (high * seen.width) / seen.height);
      [x, y] = [left - (span - wide) / 2, top];
      look();
    }
    const within = (at, from, whole, part) => (part < whole ? Math.max(from, Math.min(at, from + whole - part)) : from + (whole - part) / 2);
    function zoomTo(element, least) {  // with room around it, and no larger than it was drawn; least: of the screen's width
      if (large()) for (const [name, size] of [["width", view.clientWidth], ["height", Math.min(high, HIGH)]]) svg.setAttribute(name, size);
      const box = element.getBBox(), seen = svg.getBoundingClientRect(), shape = seen.width / seen.height;
      const where = svg.querySelector("g.graph")?.transform.baseVal.consolidate()?.matrix ?? { e: 0, f: 0 };
      span = Math.max(least * seen.width, 1.1 * box.width, 1.1 * box.height * shape);
      x = within(box.x + where.e + (box.width - span) / 2, left, wide, span);
      y = within(box.y + where.f + (box.height - span / shape) / 2, top, high, span / shape);
      look();
    }
    function read() {  // as large as can be read; what does not fit is scrolled
      const share = Math.min(1, Math.max(view.clientWidth / wide, LEAST / SMALL));
      for (const [name, size] of [["width", wide], ["height", high]]) svg.setAttribute(name, Math.ceil(size * share));
      [x, y, span] = [left, top, wide];
      look();
    }
    function begin() {  // where all at once would be a smear
      const first = [...nodes.values()].filter((node) => node.style.visibility !== "hidden");
      if (!svg.classList.contains("ng-far") || first.length <= FEW) return false;
      zoomTo(first[0], 1);
      return true;
    }
    let arrange = nodes.size > FEW ? fit : read;
    const large = () => wide > view.clientWidth || high > HIGH;
    const steps = { "+": () => zoom(1.3), "=": () => zoom(1.3), "-": () => zoom(1 / 1.3), 0: fit,
      ArrowLeft: () => move(-0.1, 0), ArrowRight: () => move(0.1, 0), ArrowUp: () => move(0, -0.1), ArrowDown: () => move(0, 0.1) };
    function move(across, down) { x += across * span; y += down * span; look(); }
    view.addEventListener("keydown", (event) => {
      const step = tools && !event.ctrlKey && !event.metaKey && !event.altKey && steps[event.key];
      if (step) { step(); event.preventDefault(); event.stopPropagation(); }
    });
    svg.addEventListener("wheel", (event) => {
      if (!tools || !(event.ctrlKey || event.metaKey)) return;  // else the page scrolls
      const seen = svg.getBoundingClientRect();
      zoom(Math.exp(-event.deltaY / 300), (event.clientX - seen.left) / seen.width, (event.clientY - seen.top) / seen.height);
      event.preventDefault();
    }, { passive: false });
    let dragged = false;  // then the click that follows is none
    svg.addEventListener("pointerdown", (event) => {
      if (!tools || event.button) return;
      const [fromX, fromY, startX, startY] = [event.clientX, event.clientY, x, y];
      dragged = false;
      const drag = (moved) => { dragged ||= Math.hypot(moved.clientX - fromX, moved.clientY - fromY) > 4; x = startX - (moved.clientX - fromX) / scale(); y = startY - (moved.clientY - fromY) / scale(); look(); };
      const stop = () => { removeEventListener("pointermove", drag); removeEventListener("pointerup", stop); };
      addEventListener("pointermove", drag);
      addEventListener("pointerup", stop);
    });

    // --- scopes ---
    const counts = new Map();
    for (const node of nodes.values()) for (const scope of path(node)) counts.set(scope, (counts.get(scope) ?? 0) + 1);
    function label(frame) {
      const text = frame.querySelector("text"), box = frame.querySelector("path, rect").getBBox(), shut = frame.classList.contains("ng-shut");
      text.dataset.name ??= text.textContent.trim();
      text.dataset.x ??= `${text.getAttribute("x")} ${text.getAttribute("y")} ${text.getAttribute("text-anchor")}`;
      const [ownX, ownY, anchor] = text.dataset.x.split(" ");
      const title = text.dataset.name, count = counts.get(frame.id) ?? 0;
      const size = shut ? Math.max(SMALL, Math.min(box.height / 3, 10 / Math.min(1, scale()))) : SMALL;
      const long = (words) => 0.62 * size * words.length;  // about
      const choices = [`${title}: ${count} nodes`, `${title}: ${count}`, title], middle = [box.x + box.width / 2, box.y + box.height / 2];
      const flat = choices.find((words) => long(words) < box.width), upright = !flat && choices.find((words) => long(words) < box.height);
      text.textContent = shut ? flat ?? (upright || "") : title;
      text.setAttribute("font-size", size);
      text.setAttribute("x", shut ? middle[0] : ownX);
      text.setAttribute("y", shut ? middle[1] + size / 3 : ownY);
      text.setAttribute("transform", shut && upright ? `rotate(-90 ${middle.join(" ")})` : "");
      text.setAttribute("text-anchor", shut ? "middle" : anchor);
      text.setAttribute("aria-label", shut ? `open ${title}` : `close ${title}`);
      text.setAttribute("aria-expanded", String(!shut));
    }
    function close(ids, shut) {
      for (const id of ids) {
        const frame = frames.get(id), parent = frame.parentElement;
        frame.classList.toggle("ng-shut", shut);
        shut ? parent.append(frame) : parent.insertBefore(frame, parent.querySelector("g"));
        label(frame);
      }
      const hides = (element) => path(element).some((scope) => frames.get(scope)?.classList.contains("ng-shut"));
      for (const each of [...nodes.values(), ...frames.values()]) each.style.visibility = hides(each) ? "hidden" : "";
      for (const each of all("g.cell")) each.style.visibility = nodes.get(each.dataset.box)?.style.visibility ?? "";
      for (const edge of edges) {
        const ends = [edge.dataset.from, edge.dataset.to].map((end) => nodes.get(end));
        const inside = ends.every((end) => end?.style.visibility === "hidden") && path(ends[0])[0] === path(ends[1])[0];
        edge.style.visibility = inside ? "hidden" : "";
      }
    }
    const outermost = () => [...frames].filter(([, frame]) => !path(frame).length).map(([id]) => id);
    for (const [id, frame] of frames) {
      const text = frame.querySelector("text");
      for (const [name, fact] of Object.entries({ tabindex: 0, role: "button" })) text.setAttribute(name, fact);
      const flip = () => close([id], !frame.classList.contains("ng-shut"));
      text.addEventListener("click", flip);
      frame.addEventListener("click", () => !dragged && frame.classList.contains("ng-shut") && close([id], false));
      text.addEventListener("click", (event) => event.stopPropagation());
      text.addEventListener("keydown", (event) => { if (["Enter", " "].includes(event.key)) { flip(); event.preventDefault(); text.focus(); } });
    }

    // --- search ---
    let found = -1;
    function search(text) {
      const words = text.trim().toLowerCase();
      if (name === "parts" && words) return open("whole").search(text);
      const hits = words ? [...nodes.values()].filter((node) => node.getAttribute("aria-label").toLowerCase().includes(words)) : [];
      for (const node of nodes.values()) node.classList.toggle("ng-found", hits.includes(node));
      if (!hits.length) return void (said.textContent = words ? "Nothing is called so." : "");
      found = (found + 1) % hits.length;
      close(path(hits[found]).filter((scope) => frames.has(scope)), false);
      zoomTo(hits[found], Math.min(1, wide / view.clientWidth));
      said.textContent = `${found + 1} of ${hits.length}: ${hits[found].getAttribute("aria-label")}`;
    }

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
      return `d ${called(ends[0])} / d ${called(id)}  =  ${written}${many}${written === result ? "" : `  =  ${result}`}`;
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
    const point = (event) => {
      clear();
      const over = event.target.closest?.("g.cell, g.node");
      if (over) over.classList.contains("cell") ? trace(over) : follow(over.id);
    };
    svg.addEventListener("pointerover", point);
    view.addEventListener("focusin", point);  // on the drawing itself, it would make that a stop of Tab
    svg.addEventListener("pointerleave", clear);
    view.addEventListener("focusout", clear);

    // --- from a part to the whole ---
    const titled = (frame) => frame?.querySelector("title")?.textContent ?? "";
    /** Elements by the names of their scopes and their own: the frames of the whole, the folded boxes of the parts. */
    function places(of, own) {
      const placed = new Map(), around = of[0]?.ownerSVGElement;
      for (const each of of) {
        const words = [...path(each).map((id) => titled(around.getElementById(id))), own(each)].join("\n");
        placed.set(words, [...(placed.get(words) ?? []), each]);
      }
      for (const same of placed.values()) same.sort((a, b) => a.id.split("-")[1] - b.id.split("-")[1]);  // as they were made
      return placed;
    }
    function go(part) {  // to the node of that name, or to the scope that stood folded; the others stay folded
      const folded = places([...part.ownerSVGElement.querySelectorAll("g.node[id^=scope-]")], (box) => box.querySelector("text")?.textContent.trim());
      const there = places([...frames.values()], titled), shut = [];
      let frame;
      for (const [words, boxes] of folded) boxes.forEach((box, at) => {
        const own = there.get(words)?.[at];
        if (box === part) frame = own;
        if (own) shut.push(own.id);
      });
      close(shut, true);
      if (frame) close([...path(frame), frame.id], false);
      const node = nodes.get(part.id);
      if (frame || node) zoomTo(frame ?? node, 0.5);
      (node ?? frame?.querySelector("text"))?.focus({ preventScroll: true });
    }
    if (name === "parts") {
      svg.addEventListener("click", (event) => { const part = event.target.closest("g.node"); if (part && !dragged) open("whole").go(part); });
      svg.addEventListener("keydown", (event) => { const part = event.target.closest("g.node"); if (part && event.key === "Enter") open("whole").go(part); });
    }

    // --- tools, where they are needed ---
    const tools = (name || large()) && make("div", { class: "ng-tools" });
    if (tools) {
      const button = (text, words, act) => tools.append(make("button", { type: "button", "aria-label": words, title: words, onclick: act }, text));
      button("+", "larger", () => zoom(1.3));
      button("−", "smaller", () => zoom(1 / 1.3));
      button("fit", "the whole picture", fit);
      if (name === "parts") button("all nodes", "show every node", () => open("whole"));
      if (name === "whole") button("in short", "show the graph in few boxes", () => open("parts"));
      if (frames.size) button("open all", "open every scope", () => { close(frames.keys(), false); begin(); });
      if (frames.size) button("close all", "close every outermost scope", () => close(outermost(), true));
      const box = tools.appendChild(make("input", { type: "search", placeholder: "search", "aria-label": "search for a node" }));
      box.oninput = () => { found = -1; search(box.value); };
      box.onkeydown = (event) => { event.stopPropagation(); if (event.key === "Enter") search(box.value); };
      root.prepend(tools);
      view.setAttribute("aria-label", "the picture: + and − zoom, arrows move, 0 fits");
      let room = view.clientWidth;
      new ResizeObserver(() => {
        if (!view.clientWidth || Math.abs(view.clientWidth - room) < 30) return;  // 0: it is taken away
        room = view.clientWidth;
        arrange();
      }).observe(view);
      arrange();
      if (svg.classList.contains("ng-far")) close(outermost(), true);
      if (begin()) arrange = () => { fit(); begin(); };
    }
    const type = (text) => { const box = tools.querySelector("input"); box.value = text; box.focus(); search(text); };
    return { go, search: type };
  }
  for (const root of document.querySelectorAll(".ng-picture:not(.ng-live)")) {
    root.classList.add("ng-live");
    liven(root);
  }
})();
